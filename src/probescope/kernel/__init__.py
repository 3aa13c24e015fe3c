"""The only room that touches Linux: system calls, /proc, /sys, tracefs.

In: numbers, names, instruction bytes. Out: owned descriptors, bytes, small frozen facts, and errors with advice that
can be pasted. Imports only ``ir`` and below. Every room above may import it; nobody above makes a system call itself.

Everything goes through one replaceable executor (``host``); a test puts a ``fake.FakeHost`` in its place.

host
    ``host() -> Host``, ``use_host(other)``; ``Host.read_bytes, read_text, write, listdir, exists, readlink, open,
    close, mmap, ioctl, syscall`` raise OSError. ``FdLike``: an int or an ``Fd``. ``Mapping``: ``view``, ``close()``.
fds
    ``Fd(number, what)``: ``fileno()``, ``close()``, ``detach()``, ``with``. ``open_fds()``, ``close_all(fds,
    threads=1)``.
uapi.bpf, uapi.helpers, uapi.perf
    Constants as data: ``helpers.IDS["map_lookup_elem"]``, ``helpers.NAMES[5]``, ``bpf.BPF_MAP_TYPE_HASH``.
bpf
    ``btf_load(data) -> Fd``, ``object_ids(kind)``, ``object_fd(kind, id)``, ``enable_stats() -> Fd``, ``pin``,
    ``get_pinned``, ``task_fd_query(pid, fd)``.
bpf_btf
    ``btf_info(fd)``, ``kernel_btf(module) -> Fd | None`` (what ``attach_btf_obj_fd`` wants).
bpf_functions
    ``loaded(id=0) -> Functions(program, btf, types)`` of every BPF program with BTF; ``btf_bytes(id)``.
bpf_map
    ``map_create(type, key_size, value_size, max_entries, *, flags, name, btf, key_btf, value_btf, inner, extra) ->
    Map``. ``Map``: ``lookup(key, delete=False) -> bytes | None``, ``update(key, value, flags)``, ``delete(key) ->
    bool``, ``next_key``, ``keys()``, ``dump(delete=False) -> Entries(count, key_size, value_bytes, keys, values)``,
    ``clear()``, ``freeze()``, ``mmap(write=True) -> Mapping``, ``info()``, ``value_bytes`` (a per-CPU value is a row of
    slots).
bpf_prog
    ``prog_load(Load(type, insns, name=, license=, expected_attach_type=, flags=, attach_btf_id=, attach_btf_obj_fd=,
    attach_prog_fd=, btf_fd=, func_info=, line_info=, fd_array=)) -> Prog``, ``prog_load_verbose(load, level)``,
    ``prog_test_run(prog, data=, data_out=, ctx=, ctx_out=, repeat=) -> TestRun(retval, duration_ns, data, ctx)``,
    ``prog_info(fd) -> ProgInfo(id, xlated_len, run_time_ns, run_count, misses, verified_insns, ...)``, ``bind_map``.
bpf_link
    ``link_perf_event(prog, event, cookie)``, ``raw_tracepoint_open(prog, name, cookie=None)``,
    ``link_tracing(prog, attach_type, cookie)``, ``link_iter(prog, info)``,
    ``link_kprobe_multi(prog, symbols=|addresses=, cookies=, ret=, session=)``,
    ``link_uprobe_multi(prog, path, offsets, ref_ctr_offsets=, cookies=, pid=, ret=, session=)`` -> ``Link``;
    ``iter_create(link) -> Fd``.
perf_attr
    ``PerfAttr(type, config, period, sample_type, ...)``, ``tracepoint_attr(id)``, ``software_attr``, ``hardware_attr``,
    ``breakpoint_attr(address, length, kind)``, ``uprobe_attr(path, offset, ret=, ref_ctr=)``,
    ``kprobe_attr(symbol, offset, address=, ret=)``; ``pmus()``, ``pmu_type(name)``, ``pmu_bit(pmu, field)``.
perf_event
    ``perf_event_open(attr, pid=-1, cpu=-1, group=None, flags=0) -> PerfEvent``: ``enable``, ``disable``, ``set_bpf``,
    ``set_filter``, ``set_output``, ``set_period``, ``id``, ``read_values``.
point, point_image
    ``point(name, *values)``: a span that this program marks, for tracers: a context manager, a decorator;
    ``offer(name) -> path`` of the probes that processes started from now on will have.
records, ringbuf, perfring, perfbuf
    ``RingBuffer(map, size)``: ``consume() -> Records(data, offsets, length_at, lost)``, ``wait(timeout_ms)``,
    ``available()``, ``fileno()``. ``PerfBuffer(array, pages)``: ``consume() -> list[Records]``. ``PerfRing(event,
    pages)``: ``consume() -> bytes``, for ``walk(data)``. ``Records.offsets`` is a range when all records have one size.
machine
    ``possible_cpus``, ``online_cpus``, ``parse_cpus``, ``sysctl``, ``sysctl_int``, ``kernel_config``, ``kallsyms``,
    ``btf_bytes``, ``wall_offset_ns``, ``boot_offset_ns``...
procfs, cgroups
    Processes: ``pids``, ``maps(pid)``, ``comm``, ``cmdline``, ``exe``, ``status``, ``namespaces``, ``root``;
    ``cgroup_path(id)``, ``cgroup_id(path)``, ``cgroups_of(pid)``.
debuginfod, packages
    Debug files: ``Client(urls, cache).fetch(build_id, kind) -> path``; ``advice(paths) -> {path: what to install}``.
tracefs
    ``root()``, ``available_events()``, ``event_id(category, name)``, ``event_format``, ``filter_functions()``,
    ``Instance``, ``reap()``.
privileges, features, advice
    ``privileges()``; ``probe(name) -> Answer(name, yes: bool | None, reason, errno)``, ``all_features()``,
    ``features(names) -> model.Features``; ``kernel_error(call, errno, where, **context) -> KernelError``.
"""
