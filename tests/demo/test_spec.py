from lbctl.demo.latency import LogNormal
from lbctl.demo.spec import BackendSpec, spec_from_line


def test_a_spec_survives_the_way_to_the_backend_process_on_one_line() -> None:
    spec = BackendSpec(
        "127.0.0.1:2379", ("echo", "math"), "seed", 5, 10, LogNormal(0.002, 0.5), 0.005, "0/1", orca=True
    )
    line = spec.to_line()
    assert spec_from_line(line) == spec
    assert line.count(b"\n") == 1
