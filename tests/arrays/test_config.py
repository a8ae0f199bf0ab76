"""Settings."""

from __future__ import annotations

import pytest

import windrow as wr
from windrow.workers.config import Config, ConfigError, UnknownSetting, load


def test_defaults_and_environment():
    assert load({"WINDROW_CONFIG": ""}).chunk_bytes == 1 << 24
    found = load({"WINDROW_CONFIG": "", "WINDROW_CHUNK_BYTES": "1 MiB", "WINDROW_THREADS": "3", "WINDROW_JIT": "off"})
    assert (found.chunk_bytes, found.threads, found.jit) == (1 << 20, 3, "off")


def test_file(tmp_path):
    path = tmp_path / "windrow.toml"
    path.write_text('memory = "2 GiB"\nheartbeat = 5\nthreads = 2\n')
    found = load({"WINDROW_CONFIG": str(path), "WINDROW_THREADS": "4"})
    assert (found.memory, found.heartbeat, found.threads) == (1 << 31, 5.0, 4)
    path.write_text("colour = 3")
    with pytest.raises(ConfigError, match=r"windrow.toml: unknown setting 'colour'"):
        load({"WINDROW_CONFIG": str(path)})
    path.write_text("= 3")
    with pytest.raises(ConfigError, match=r"windrow.toml"):
        load({"WINDROW_CONFIG": str(path)})
    with pytest.raises(ConfigError, match="there is no file"):
        load({"WINDROW_CONFIG": str(tmp_path / "none.toml")})


def test_misspelt_settings_and_what_set_says():
    config = Config()
    with pytest.raises(ConfigError, match="did you mean 'chunk_bytes'"):
        config.set(chunk_byte=3)
    assert repr(config.set(threads=2)) == "Setting(before: threads=None)"


def test_set_for_a_while_and_for_good():
    config = Config()
    before = config.heartbeat
    with config.set(heartbeat=1.5, spill_dir="/tmp"), config(threads=2):
        assert (config.heartbeat, config.spill_dir, config.threads) == (1.5, "/tmp", 2)
    assert (config.heartbeat, config.spill_dir) == (before, None)
    config.set(progress=False)
    assert config.progress == "off"
    assert "progress='off'" in repr(config)


@pytest.mark.parametrize(
    "values",
    [{"colour": 1}, {"threads": 0}, {"threads": 1.5}, {"chunk_bytes": "many"}, {"chunk_bytes": 0},
     {"jit": "maybe"}, {"heartbeat": -1}, {"memory": "-3"}, {"transport": 3}],
)  # fmt: skip
def test_bad_settings(values):
    (name,) = values
    with pytest.raises(ConfigError, match=f"config.set.*{name}"):
        wr.config.set(**values)


def test_settings_are_not_assigned():
    with pytest.raises(wr.ArgumentError, match="set"):
        wr.config.threads = 3
    with pytest.raises(AttributeError, match="'colour'"):
        _ = wr.config.colour


def test_variables_that_are_no_settings_are_told():
    with pytest.warns(UnknownSetting, match="WINDROW_CHUNKBYTES .* did you mean WINDROW_CHUNK_BYTES"):
        load({"WINDROW_CONFIG": "", "WINDROW_CHUNKBYTES": "1 MiB"})
    with pytest.warns(UnknownSetting, match="WINDROW_XYZ .* expected one of WINDROW_CHUNK_BYTES, "):
        load({"WINDROW_CONFIG": "", "WINDROW_XYZ": "1"})
    load({"WINDROW_CONFIG": "", "WINDROW_RANK": "1 openmpi 0/1 a"})


@pytest.mark.ranks
@pytest.mark.parametrize("ranks", [0, 3])
def test_they_are_told_once(launch, ranks):
    code = "import windrow as wr; wr.config.threads; print(wr.ones(30, chunks=3).sum().compute())"
    ended = launch(ranks, "-c", code, WINDROW_CONFIG="", WINDROW_HEARTBEATS="3")
    assert ended.status == 0, ended.err
    assert ended.err.count("did you mean WINDROW_HEARTBEAT?") == 1, ended.err


@pytest.mark.parametrize("memory", ["1 KiB", 1000, "65535"])
def test_a_cluster_without_memory_is_refused(memory):
    with pytest.raises(wr.ArgumentError, match=r"Cluster: .*memory.*at least 64 KiB"):
        wr.Cluster(memory=memory)
