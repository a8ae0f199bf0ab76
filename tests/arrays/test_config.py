"""Settings."""

from __future__ import annotations

import pytest

import windrow as wr
from windrow.workers.config import Config, ConfigError, load


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
