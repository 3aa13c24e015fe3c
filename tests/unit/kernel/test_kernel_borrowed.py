"""Settings of the whole machine: borrowed only where nobody uses them, put back by whoever comes next."""

from __future__ import annotations

import errno
import json

import pytest

from probescope.errors import KernelError, SessionError
from probescope.kernel import borrowed as module
from probescope.kernel.borrowed import FOLDER, Borrowed, abandoned, settle, tracers_at_work
from probescope.kernel.fake import FakeHost
from probescope.kernel.filelock import FileLock
from probescope.kernel.host import Host, use_host

T = "/sys/kernel/tracing"
IDLE = "#### all functions enabled ####\n"


def fake(**files):
    base = {
        f"{T}/available_events": "",
        f"{T}/set_graph_function": IDLE,
        f"{T}/max_graph_depth": "0\n",
        f"{T}/current_tracer": "nop\n",
        f"{T}/tracing_on": "1\n",
    }
    host = FakeHost(files={**base, **files}, inodes={"/proc/self/ns/pid": 0xABC})
    host.cache["tracefs"] = T
    return host


def test_what_undoes_a_change_is_written_down_before_it():
    host = fake()
    with use_host(host):
        with Borrowed() as borrowed:
            borrowed.write("set_graph_function", "vfs_read\n")
            borrowed.write("set_graph_function", "vfs_write\n")
            borrowed.write("max_graph_depth", "3")
            (path,) = [p for p in host.files if p.startswith(FOLDER)]
            kept = json.loads(host.files[path])
        assert kept == [["set_graph_function", "", True], ["max_graph_depth", "0", False]]
        assert path not in host.files
    undone = [(p.removeprefix(f"{T}/"), data) for p, data in host.written][3:]
    assert undone == [("max_graph_depth", b"0"), ("set_graph_function", b"")]


def test_what_somebody_uses_is_not_touched():
    host = fake(**{f"{T}/set_graph_function": "schedule\n"})
    with use_host(host), pytest.raises(SessionError, match="in use by another tracer"):
        Borrowed().write("set_graph_function", "vfs_read\n")
    assert host.written == []


def test_another_probescope_is_named():
    used = {f"{T}/max_graph_depth": "3\n", f"{FOLDER}/borrowed_12_abc.json": "[]", "/proc/12/stat": ""}
    with use_host(fake(**used)), pytest.raises(SessionError, match=r"probescope \(process 12\)"):
        Borrowed().write("max_graph_depth", "2")


def test_a_list_of_processes_is_idle_when_it_is_empty():
    host = fake(**{f"{T}/set_event_pid": "\n"})
    with use_host(host), Borrowed() as borrowed:
        borrowed.write("set_event_pid", "7")
    assert [data for _, data in host.written] == [b"7", b""]
    with use_host(fake(**{f"{T}/set_event_pid": "9\n"})), pytest.raises(SessionError):
        Borrowed().write("set_event_pid", "7")


def test_nothing_is_recorded_while_the_top_buffer_is_given_back():
    host = fake()
    with use_host(host), Borrowed() as borrowed:
        borrowed.note("tracing_on", "1")
        borrowed.write("current_tracer", "function_graph")
    assert [(p.rpartition("/")[2], data) for p, data in host.written][1:] == [
        ("tracing_on", b"0"),
        ("current_tracer", b"nop"),
        ("tracing_on", b"1"),
    ]


def test_buffers_that_tracers_work_in():
    others = {f"{T}/instances/mine/current_tracer": "function\n", f"{T}/instances/x/current_tracer": "wakeup\n"}
    with use_host(fake(**others)):
        assert tracers_at_work({f"{T}/instances/mine"}) == [("the instance x", "wakeup")]


def test_what_the_dead_have_borrowed_is_put_back():
    """Ours, by pid and pid namespace; what stands in the file is not trusted to name anything but settings."""
    name = f"{FOLDER}/borrowed_11_abc.json"
    undo = [["max_graph_depth", "0", False], ["../../proc/sysrq-trigger", "b", False]]
    host = fake(**{name: json.dumps(undo), f"{FOLDER}/borrowed_12_def.json": "[]", "/proc/12/stat": ""})
    with use_host(host):
        assert abandoned() == [(name, 11, False), (f"{FOLDER}/borrowed_12_def.json", 12, True)]
        assert settle(name)
    assert host.written == [(f"{T}/max_graph_depth", b"0")]
    assert name not in host.files


@pytest.mark.parametrize("text", ["", "{", "3", '[["a"]]', '[{"a": 1}]', "[[1, 2, 3]]"])
def test_a_damaged_file_is_thrown_away(text):
    name = f"{FOLDER}/borrowed_11_abc.json"
    host = fake(**{name: text})
    with use_host(host):
        settle(name)
    assert host.written == []
    assert name not in host.files


def test_names_that_users_have_given_are_put_back_too():
    """A buffer may be called whatever a folder may; what leads out of tracefs is not written."""
    name = f"{FOLDER}/borrowed_11_abc.json"
    files = [f"instances/probescope_1_2_record_{'my.own buffer' * 5}/trace_options", "instances/../../x", "events/./y"]
    host = fake(**{name: json.dumps([[f, "nomarkers", False] for f in files]), f"{T}/{files[0]}": ""})
    with use_host(host):
        assert settle(name)
    assert host.written == [(f"{T}/{files[0]}", b"nomarkers")]


def test_a_run_with_many_probes_is_put_back():
    """A thousand definitions that were borrowed, and a run that was killed."""
    name = f"{FOLDER}/borrowed_11_abc.json"
    undo = [["kprobe_events", f"-:probe/{'function' * 7}_{i}", False] for i in range(1000)]
    host = fake(**{name: json.dumps(undo), f"{T}/kprobe_events": ""})
    with use_host(host):
        assert settle(name)
    assert len(host.written) == 1000


@pytest.mark.parametrize("text", ["[" * 100_000, "x" * (module._LIMIT + 1)], ids=["deep", "long"])
def test_what_cannot_be_read_stops_nobody(text, tmp_path, monkeypatch):
    """A run would not start while it is there."""
    path = tmp_path / "borrowed_11_abc.json"
    path.write_text(text)
    monkeypatch.setattr(module, "FOLDER", str(tmp_path))
    assert not settle(str(path))
    assert not path.exists()


class Watched(FakeHost):
    """Whether the lock was taken at each look at tracefs, and at each change."""

    def __init__(self, host, folder):
        super().__init__(host.files, inodes=host.inodes)
        self.cache["tracefs"] = T
        self.lock = Host.lock.__get__(self)
        self.folder, self.seen = folder, []

    def _look(self, path):
        if path.startswith(T):
            try:
                with FileLock(f"{self.folder}/settings.lock", wait=False):
                    self.seen.append(path)
            except BlockingIOError:
                pass

    def read_bytes(self, path, limit=0):
        self._look(path)
        return super().read_bytes(path)

    def write(self, path, data, *, truncate=False):
        self._look(path)
        super().write(path, data, truncate=truncate)


def test_two_runs_do_not_look_at_once(tmp_path, monkeypatch):
    """From the look whether nobody uses it to the change there is a lock; and while a dead run's are put back."""
    monkeypatch.setattr(module, "FOLDER", str(tmp_path))
    dead = str(tmp_path / "borrowed_11_abc.json")
    host = Watched(fake(**{dead: '[["max_graph_depth", "0", false]]'}), tmp_path)
    with use_host(host):
        settle(dead)
        borrowed = Borrowed()
        borrowed.write("set_graph_function", "vfs_read\n")
        assert host.seen == []
        assert len(host.written) == 2
        borrowed.close()


def test_one_run_alone_has_the_top_buffer(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FOLDER", str(tmp_path))
    with use_host(Watched(fake(), tmp_path)):
        first, second = Borrowed(), Borrowed()
        first.hold("top buffer")
        with pytest.raises(SessionError, match="top buffer of tracefs is in use by another probescope"):
            second.hold("top buffer")
        first.close()
        second.hold("top buffer")
        second.close()


REMOVED = ("uprobe_events", "-:probe_bash/readline")


def another_run_with(*items):
    """A living process that has written down what it will take back."""
    text = json.dumps([[*item, False] for item in items])
    return {f"{FOLDER}/borrowed_12_abc.json": text, "/proc/12/stat": "", f"{T}/uprobe_events": ""}


def test_what_two_runs_have_made_is_taken_back_by_the_last():
    """An event that both record has one name: the first to end must leave it, and who did not make it must not forget
    it, or it would stay for ever."""
    host, made = fake(**another_run_with(REMOVED)), []
    own = ("uprobe_events", "-:probe_bash/main")
    with use_host(host):
        borrowed = Borrowed()
        borrowed.share([REMOVED, own], made.append)
        assert made == [1]
        borrowed.close()
        assert [data for _, data in host.written] == [own[1].encode()]
        del host.files["/proc/12/stat"], host.files[f"{FOLDER}/borrowed_12_abc.json"]
        host.written.clear()
        borrowed.share([REMOVED], made.append)
        assert made == [1, 0]
        borrowed.close()
    assert [data for _, data in host.written] == [REMOVED[1].encode()]


def test_an_event_that_is_there_is_joined_where_a_run_has_lent_it():
    """Nobody's note: it was made to stay, and stays."""
    for lent in (True, False):
        host = fake(**(another_run_with(REMOVED) if lent else {f"{T}/uprobe_events": ""}))
        with use_host(host):
            borrowed = Borrowed()
            borrowed.join([REMOVED])
            borrowed.join([REMOVED])
            assert borrowed.undo == ([(*REMOVED, False)] if lent else [])
            if lent:
                del host.files["/proc/12/stat"], host.files[f"{FOLDER}/borrowed_12_abc.json"]
            borrowed.close()
        assert [data for _, data in host.written] == ([REMOVED[1].encode()] if lent else [])


def test_a_dead_run_shares_with_the_living():
    name = f"{FOLDER}/borrowed_11_abc.json"
    host = fake(**{name: json.dumps([[*REMOVED, False], ["max_graph_depth", "0", False]]), **another_run_with(REMOVED)})
    with use_host(host):
        assert settle(name)
    assert [data for _, data in host.written] == [b"0"]


def test_what_could_not_be_made_is_not_taken_back():
    """It may be somebody else's of the same name."""
    host = fake(**{f"{T}/uprobe_events": ""})

    def make(number):
        if number:
            raise KernelError("write uprobe_events", errno.EEXIST)

    with use_host(host):
        borrowed = Borrowed()
        with pytest.raises(KernelError):
            borrowed.share([("uprobe_events", "-:a/one"), REMOVED, ("uprobe_events", "-:a/three")], make)
        borrowed.close()
    assert [data for _, data in host.written] == [b"-:a/one"]


def test_what_two_runs_have_changed_is_put_back_as_it_was_before_both():
    """The second finds what the first has written, and would leave it behind."""
    others = another_run_with(("saved_cmdlines_size", "128"))
    host = fake(**others, **{f"{T}/saved_cmdlines_size": "4096\n"})
    with use_host(host), Borrowed() as borrowed:
        borrowed.change("saved_cmdlines_size", "9000", str)
        assert borrowed.undo == [("saved_cmdlines_size", "128", False)]
    host = fake(**{f"{T}/trace_clock": "local [mono] boot\n"})
    with use_host(host), Borrowed() as borrowed:
        borrowed.change("trace_clock", "boot", lambda now: now.partition("[")[2].partition("]")[0])
    assert [data for _, data in host.written] == [b"boot", b"mono"]


def test_two_borrowers_of_one_process_do_not_forget_each_other():
    """A library may run two sessions at once: if it is killed, both are put back."""
    host = fake()
    with use_host(host):
        first, second = Borrowed(), Borrowed()
        first.write("max_graph_depth", "3")
        second.note("trace_options", "nomarkers")
        second.close()
        (path,) = [p for p in host.files if p.startswith(FOLDER)]
        assert abandoned() == [(path, host.getpid(), False)]
        assert json.loads(host.files[path]) == [["max_graph_depth", "0", False]]
        first.close()
    assert not [p for p in host.files if p.startswith(FOLDER)]
