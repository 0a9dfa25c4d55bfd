from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings

from multinic_cni.conf.netconf import AttachPolicy, NetConf, check_version, read_net_conf
from multinic_cni.errors import (
    BAD_CONF,
    DECODE_FAILURE,
    INCOMPATIBLE_VERSION,
    UNSUPPORTED_FIELD,
    CniError,
)
from multinic_cni.log import log
from multinic_ipam.networks import Network
from tests.unit.confs import document, net_conf
from tests.unit.documents import mistaken

if TYPE_CHECKING:
    from tests.unit.document_words import Document


def refusal(conf: object) -> CniError:
    with pytest.raises(CniError) as raised:
        read_net_conf(conf, "multinic-cni")
    return raised.value


def policy(**changes: Any) -> AttachPolicy:  # noqa: ANN401 - AttachPolicy's words
    shortest = AttachPolicy(
        strategy="none",
        nics=None,
        min_nics=1,
        target=None,
        class_name="",
        classes={},
        rdma=False,
        rdma_required=False,
        unhealthy="skip",
    )
    return shortest.but(**changes)


def test_shortest_conf_has_the_defaults() -> None:
    expected = {
        "cni_version": "1.0.0",
        "name": "rails",
        "chain": ({"type": "macvlan", "mode": "bridge"},),
        "master_nets": (Network.parse("10.1.0.0/24"), Network.parse("10.2.0.0/24")),
        "masters": (),
        "attach_policy": policy(nics=None, min_nics=1, unhealthy="skip"),
        "masters_in_order": ("10.1.0.0/24", "10.2.0.0/24"),
        "rails": None,
        "devices": (),
        "subnets": (),
        "hosts": {},
        "ipam": {},
        "routing": None,
        "mtu": 0,
        "vlan": 0,
        "restore": False,
        "interface_names": "spec",
        "timeout": 60,
        "max_parallel": None,
        "data_dir": "/var/lib/cni/multinic",
        "log_file": "",
        "log_level": "info",
        "dns": {},
        "cni_args": {},
        "runtime_config": {},
        "prev_result": None,
        "valid_attachments": None,
    }
    conf = net_conf()
    assert expected == {field: getattr(conf, field) for field in expected}


NULLABLE = (
    "masters",
    "attachPolicy",
    "subnet",
    "hosts",
    "ipam",
    "interfaceNames",
    "maxParallel",
    "logFile",
    "dns",
    "args",
    "runtimeConfig",
    "prevResult",
    "deviceID",
    "pciBusID",
    "routing",
    "mtu",
    "vlan",
    "cni.dev/valid-attachments",
)


def test_nulls_mean_the_defaults() -> None:
    nulls = {**document(), **dict.fromkeys(NULLABLE)}
    assert net_conf() == read_net_conf(nulls, "multinic-cni")


def test_every_key_is_read() -> None:
    conf = net_conf(
        plugin=[{"type": "macvlan"}, {"type": "tuning", "promisc": True}],
        masters=["rail*"],
        attachPolicy={"nics": 4, "minNics": 2, "unhealthy": "use"},
        subnet=["192.168.0.0/16", "fd00::/48"],
        hosts={"node-a": 3},
        ipam={"type": "multi-nic-ipam", "interfaceBlock": 2, "hostBlock": 6},
        mtu=9000,
        vlan={"id": 100},
        interfaceNames="rail",
        timeout=5,
        maxParallel=2,
        dataDir="/srv/multinic",
        logFile="/var/log/multinic.log",
        logLevel="debug",
        dns={"nameservers": ["10.1.0.53"]},
        args={"cni": {"nics": 1}},
        runtimeConfig={"portMappings": []},
        prevResult={"cniVersion": "1.0.0"},
    )
    assert ({"type": "macvlan"}, {"type": "tuning", "promisc": True}) == conf.chain
    assert ("rail*",) == conf.masters
    assert policy(nics=4, min_nics=2, unhealthy="use") == conf.attach_policy
    assert (Network.parse("192.168.0.0/16"), Network.parse("fd00::/48")) == conf.subnets
    assert {"node-a": 3} == conf.hosts
    assert {"type": "multi-nic-ipam", "interfaceBlock": 2, "hostBlock": 6} == conf.ipam
    assert (9000, 100) == (conf.mtu, conf.vlan)
    assert ("rail", 5, 2) == (conf.interface_names, conf.timeout, conf.max_parallel)
    assert ("/srv/multinic", "/var/log/multinic.log") == (conf.data_dir, conf.log_file)
    assert ("debug", {"nameservers": ["10.1.0.53"]}) == (conf.log_level, conf.dns)
    assert ({"nics": 1}, {"portMappings": []}) == (conf.cni_args, conf.runtime_config)
    assert {"cniVersion": "1.0.0"} == conf.prev_result


def test_one_subnet_may_stand_alone() -> None:
    blocks = {"type": "multi-nic-ipam", "interfaceBlock": 1}
    conf = net_conf(subnet="192.168.0.0/16", ipam=blocks)
    assert (Network.parse("192.168.0.0/16"),) == conf.subnets


@pytest.mark.parametrize(
    ("called_as", "given", "expected"),
    [
        ("multinic-cni", None, "spec"),
        ("multi-nic", None, "indexed"),
        ("multi-nic", "spec", "spec"),
        ("multinic-cni", "indexed", "indexed"),
    ],
)
def test_interface_names(called_as: str, given: str | None, expected: str) -> None:
    assert expected == net_conf(called_as, interfaceNames=given).interface_names


GIVEN = [{"containerID": "a", "ifname": "net1"}]
OTHER = [{"containerID": "b", "ifname": "net1"}]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, None),
        ({"cni.dev/valid-attachments": []}, ()),
        ({"cni.dev/attachments": []}, ()),
        ({"cni.dev/valid-attachments": GIVEN}, (("a", "net1"),)),
        ({"cni.dev/attachments": GIVEN}, (("a", "net1"),)),
        ({"cni.dev/valid-attachments": GIVEN, "cni.dev/attachments": OTHER}, (("a", "net1"),)),
        ({"cni.dev/valid-attachments": [], "cni.dev/attachments": OTHER}, ()),
    ],
    ids=["none", "empty", "old empty", "one", "old one", "both", "both, first empty"],
)
def test_absent_list_of_attachments_is_no_empty_one(
    keys: dict[str, Any], expected: tuple[tuple[str, str], ...] | None
) -> None:
    assert expected == read_net_conf({**document(), **keys}, "").valid_attachments


@pytest.mark.parametrize("version", ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"])
def test_versions(version: str) -> None:
    assert version == check_version({"cniVersion": version})


@pytest.mark.parametrize("version", ["0.1.0", "0.2.0"])
def test_versions_of_one_interface(version: str) -> None:
    error = refusal(document(cniVersion=version))
    assert INCOMPATIBLE_VERSION == error.code
    assert f"cniVersion {version!r} cannot describe several interfaces" in error.message


@pytest.mark.parametrize("version", ["1.2.0", "1.0", "v1.0.0", 1.0, ["1.0.0"]])
def test_other_versions(version: object) -> None:
    error = refusal(document(cniVersion=version))
    assert INCOMPATIBLE_VERSION == error.code
    assert f"cniVersion {version!r} is not supported" in error.message
    assert "0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0" in error.message


@pytest.mark.parametrize("given", [{}, {"cniVersion": ""}, {"cniVersion": None}], ids=repr)
def test_absent_version_means_0_1_0(given: dict[str, object]) -> None:
    error = refusal({**document(cniVersion=None), **given})
    assert INCOMPATIBLE_VERSION == error.code
    assert "'0.1.0' (which an absent cniVersion means)" in error.message


def test_version_is_looked_at_first() -> None:
    assert INCOMPATIBLE_VERSION == refusal({"cniVersion": "9.0.0"}).code


@pytest.mark.parametrize("conf", [None, [], "rails", 5], ids=repr)
def test_no_object(conf: object) -> None:
    error = refusal(conf)
    assert (DECODE_FAILURE, "the net conf is not a JSON object") == (error.code, error.message)


def test_conflist_in_place_of_a_conf() -> None:
    error = refusal({"cniVersion": "1.0.0", "name": "rails", "plugins": [document()]})
    assert BAD_CONF == error.code
    assert "network configuration list" in error.message


def test_all_mistakes_in_one_error() -> None:
    error = refusal(document(name="a/b", timeout=0, attachPolicy={"nic": 2}))
    assert BAD_CONF == error.code
    for mistake in (
        "name: must begin",
        "attachPolicy.nic: unknown key with value 2; did you mean 'nics'?",
        "timeout: must be at least 1, not 0",
    ):
        assert mistake in error.message


def test_only_unsupported_fields_are_code_2() -> None:
    assert UNSUPPORTED_FIELD == refusal(document(attachPolicy={"speed": 1})).code


def test_rules_are_heard_beside_the_schema() -> None:
    error = refusal(document(attach="builtin", timeout="1"))
    assert "timeout: must be a whole number" in error.message
    assert "attach: builtin is not in this release" in error.message


def test_rule_is_silent_about_what_the_schema_refuses() -> None:
    policy = {"nics": 1, "minNics": "2"}
    error = refusal(document(attachPolicy=policy))
    assert "attachPolicy.minNics: must be a whole number, not a string" in error.message
    assert ";" not in error.message


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(mistaken())
def test_no_conf_surprises(conf: Document) -> None:
    try:
        read = read_net_conf(conf, "multinic-cni")
    except CniError as error:
        assert error.code in {INCOMPATIBLE_VERSION, UNSUPPORTED_FIELD, BAD_CONF}  # noqa: PT017
        return
    assert conf["name"] == read.name


def test_unknown_keys_are_named_in_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    log.configure(file="", level="info")
    conf = read_net_conf({**document(), "ipMasq": 1, "mastersNet": 1, "cni.dev/x": 1}, "")
    assert isinstance(conf, NetConf)
    logged = capfd.readouterr().err
    assert "ipMasq" in logged
    assert "mastersNet" in logged
    assert "cni.dev/x" not in logged
