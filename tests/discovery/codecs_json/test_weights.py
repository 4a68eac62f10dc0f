"""Another weight in a registration: what each layout writes, to the byte, and what it refuses."""

from __future__ import annotations

import pytest

from lbctl.discovery.codecs import CODECS
from lbctl.discovery.flaws import Unusable
from lbctl.discovery.weights import MOST_WEIGHT, reweighed
from lbctl.model import Instance
from tests.discovery.codecs_json.samples import SAMPLES, instance, rows, spelled

WEIGHED = [layout for layout in SAMPLES if layout != "go-micro"]

KRATOS = '{"id":"1","name":"orders","metadata":%s,"endpoints":["grpc://10.0.0.1:90"]}'
V1 = '{"appid":"demo","addrs":["grpc://10.0.0.1:90"],"metadata":%s,"latest_timestamp":1755800000000000000}'
KITEX = '{"network":"tcp","address":"10.0.0.1:90"%s,"tags":{"weight":"1"}}'
TRPC = '{"name":"a","id":"1","address":"10.0.0.1:90","metadata":null%s}'
GRPC_LB = '{"InstanceId":"1","Name":"test","Address":"10.0.0.1:90","Version":"1"%s}'
DUBBO = '{"ServiceName":"demo","Host":"10.0.0.1","Port":90%s,"Enable":true,"Metadata":{"weight":"1"}}\n'

KEYS = {layout: sample.key for layout, sample in SAMPLES.items()}


@pytest.mark.parametrize("layout", WEIGHED)
@pytest.mark.parametrize("weight", [1, 10, 100, MOST_WEIGHT])
def test_the_weight_written_is_the_one_read_back(layout: str, weight: int) -> None:
    sample = SAMPLES[layout]
    written = reweighed(layout, sample.key, spelled(sample.value), weight)
    assert instance(sample.key, written).weight == weight
    assert reweighed(layout, sample.key, written, 3) == spelled(sample.value)


@pytest.mark.parametrize(
    ("layout", "value", "written"),
    [
        ("kratos", KRATOS % '{"weight":"20","zone":"a"}', KRATOS % '{"weight":"7","zone":"a"}'),
        ("kratos", KRATOS % '{"weight":"heavy"}', KRATOS % '{"weight":"7"}'),
        ("kratos", KRATOS % '{"weight":"1","weight":"2"}', KRATOS % '{"weight":"1","weight":"7"}'),
        ("kratos", KRATOS % '{ "zone" : "\\u0026" }', KRATOS % '{ "zone" : "\\u0026","weight":"7" }'),
        ("kratos", KRATOS % "{}", KRATOS % '{"weight":"7"}'),
        ("kratos", KRATOS % "null", KRATOS % '{"weight":"7"}'),
        (
            "kratos",
            '\t{"endpoints":["grpc://10.0.0.1:90"], "name":"orders","id":"1"}\n',
            '\t{"endpoints":["grpc://10.0.0.1:90"], "name":"orders","id":"1","metadata":{"weight":"7"}}\n',
        ),
        ("kratos-v1", V1 % '{"color":"red","weight":"-5"}', V1 % '{"color":"red","weight":"7"}'),
        ("kratos-v1", V1 % "null", V1 % '{"weight":"7"}'),
        ("kitex", KITEX % ',"weight":10', KITEX % ',"weight":7'),
        ("kitex", KITEX % ', "weight" : 0 ', KITEX % ', "weight" : 7 '),
        ("kitex", KITEX % ',"weight":null', KITEX % ',"weight":7'),
        ("kitex", KITEX % "", '{"network":"tcp","address":"10.0.0.1:90","tags":{"weight":"1"},"weight":7}'),
        ("hertz", KITEX % ',"weight":10', KITEX % ',"weight":7'),
        ("trpc-go", TRPC % ',"weight":40', TRPC % ',"weight":7'),
        ("trpc-go", TRPC % "", TRPC % ',"weight":7'),
        ("grpc-lb", GRPC_LB % ',"Metadata":{"weight":["10","20"]}', GRPC_LB % ',"Metadata":{"weight":["7","20"]}'),
        ("grpc-lb", GRPC_LB % ',"Metadata":{"weight":[ "x" ]}', GRPC_LB % ',"Metadata":{"weight":[ "7" ]}'),
        ("grpc-lb", GRPC_LB % ',"Metadata":{"weight":[]}', GRPC_LB % ',"Metadata":{"weight":["7"]}'),
        ("grpc-lb", GRPC_LB % ',"Metadata":{"weight":null}', GRPC_LB % ',"Metadata":{"weight":["7"]}'),
        ("grpc-lb", GRPC_LB % ',"Metadata":{"weight":"10"}', GRPC_LB % ',"Metadata":{"weight":"7"}'),
        ("grpc-lb", GRPC_LB % ',"Metadata":{"z":["a"]}', GRPC_LB % ',"Metadata":{"z":["a"],"weight":["7"]}'),
        ("grpc-lb", GRPC_LB % ',"Metadata":{}', GRPC_LB % ',"Metadata":{"weight":["7"]}'),
        ("grpc-lb", GRPC_LB % ',"Metadata":null', GRPC_LB % ',"Metadata":{"weight":["7"]}'),
        ("grpc-lb", GRPC_LB % "", GRPC_LB % ',"Metadata":{"weight":["7"]}'),
        ("dubbo-app", DUBBO % ',"Weight":0', DUBBO % ',"Weight":7'),
        (
            "dubbo-app",
            DUBBO % "",
            '{"ServiceName":"demo","Host":"10.0.0.1","Port":90,"Enable":true,"Metadata":{"weight":"1"},"Weight":7}\n',
        ),
    ],
)
def test_only_the_weight_changes_to_the_byte(layout: str, value: str, written: str) -> None:
    assert reweighed(layout, KEYS[layout], value.encode(), 7).decode() == written


def test_a_weight_of_0_is_written_where_clients_pick_nobody_by_it() -> None:
    written = reweighed("kratos", KEYS["kratos"], (KRATOS % "null").encode(), 0)
    assert written.decode() == KRATOS % '{"weight":"0"}'


@pytest.mark.parametrize("layout", [layout for layout in WEIGHED if layout != "kratos"])
def test_a_weight_of_0_is_refused_where_clients_take_it_for_the_default(layout: str) -> None:
    with pytest.raises(Unusable) as raised:
        reweighed(layout, KEYS[layout], spelled(SAMPLES[layout].value), 0)
    assert raised.value.code == "no_weight"


def test_java_s_spelling_of_dubbo_has_no_place_for_a_weight() -> None:
    value = b'{"serviceName":"demo","host":"10.0.0.1","port":90,"enabled":true,"healthy":true,"metadata":{}}'
    with pytest.raises(Unusable, match="Java"):
        reweighed("dubbo-app", KEYS["dubbo-app"], value, 7)


@pytest.mark.parametrize("layout", ["go-micro", "trpc-cpp"])
def test_layouts_without_weights_have_no_way_to_write_one(layout: str) -> None:
    assert next(codec for codec in CODECS if codec.name == layout).reweigh is None


def test_all_instances_of_one_process_have_its_weight() -> None:
    value = KRATOS.replace('["grpc', '["http://10.0.0.1:80","grpc')
    written = reweighed("kratos", KEYS["kratos"], (value % '{"weight":"3"}').encode(), 7)
    assert written.decode() == value % '{"weight":"7"}'
    assert [each.weight for each in rows(KEYS["kratos"], written) if isinstance(each, Instance)] == [7, 7]
