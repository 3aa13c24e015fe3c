"""Other kernels: boots Debian's kernels in QEMU and runs commands and tests inside, on this host's own files.

In: the name of a kernel and a command. Out: the command's output as it comes, and its exit code. Nothing here is part
of the product, and the product's packages do not import it.

    kernels.py    which kernels there are, and the Debian packages behind them
    packages.py   resolve, download and unpack these packages, without touching the host's own apt state
    compiled.py   kernels that are compiled here, from the source package and a fragment of configuration
    modules.py    which kernel modules the initramfs needs, read from the modules themselves
    initramfs.py  the archive that the kernel boots into
    machine.py    one virtual machine: start it, follow it, end it
    suite.py      tests/kernels inside each kernel
"""
