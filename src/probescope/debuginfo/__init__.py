"""Bytes to symbols and types: ELF, BTF, kallsyms, USDT notes, demangling, symbolisation.

In: bytes (of ELF and BTF files, of /proc text) and paths of files to read. Out: values: symbol tables, types and
layouts of ``model.types``, USDT probes, names. ``sources``, ``lang``, ``plan``, ``collect`` and what lies above may
import this; it imports ``kernel``, ``model`` and ``errors`` only. No system call but open, pread and stat of files.
Every input is hostile: malformed bytes give ``ElfError``, ``BtfError`` or ``DwarfError``, or a partial result, after
bounded work.

    elf            headers, sections, segments, addresses; symbols (elf_symbols), notes (elf_notes)
    btf            the type graph of the kernel and its modules; as a TypeTable in btf_types
    cdecls         C declarations as plain data; ctype_table computes their layout and chains tables
    archive        members of zip archives as files; vmlinux: the kernel's own file, and its source lines
    kallsyms       kernel addresses and names
    dwarf_open     debug information of a binary, wherever it is; dwarf_file: one file; dwarf_unit, dwarf_die: its parts
    dwarf_find     units and functions by address, types by name; dwarf_lines: source lines; dwarf_types: a TypeTable
    dwarf_inlines  functions and source lines of addresses, through inlined calls (dwarf_rows: line tables as columns)
    values         values of C++, Rust and Go as texts; what is read of them at a probe
    gopclntab      functions and lines of Go programs, stripped ones too; go_program: versions, goroutines
    dwarf_params   parameters of a function and where they are at its entry (dwarf_calls, dwarf_expr)
    usdt           probes of .note.stapsdt, with the places of their arguments
    demangle       C++ (Itanium) and Rust names
    locate         separate debug files; libraries: bare library and program names
    symbolize      addresses of kernel and processes to names; functions to file offsets
    eh_frame       call frame information; unwind_table packs it for the kernel, unwind walks a stack by it
    eh_index       functions of it by address; unwind_rows: rules of many files as columns; eh_evaluate: any rule
    elf_names      names as perf chooses them; elf_plt: jumps to other libraries; jitdump, perf_map: JIT compilers
    insn           cost class of an instruction under a uprobe
    crossrefs      what code refers to in data; messages: which of those texts a printed line came from
    vmlinuz        the kernel's file out of its boot image; guess_args: arguments by machine code, decoded by iced
"""
