"""The plugin as a process: sockets, signals, drain, mutual TLS and its renewal."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import grpc
import pytest
from certificates import Authority
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2

from crossbridge_sdk._proto import plugin_service_pb2 as wire
from crossbridge_sdk.serve import unix_socket

PROGRAM = Path(__file__).with_name("vector_plugin.py")
LIMIT = 30


@contextlib.contextmanager
def process(endpoint, **environment):
    environment = {"PATH": os.environ["PATH"], "PROVIDER_PLUGIN_ENDPOINT": endpoint} | environment
    with subprocess.Popen([sys.executable, PROGRAM], env=environment, stderr=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.kill()


def ended(running):
    _, said = running.communicate(timeout=LIMIT)
    return running.returncode, said


def info(channel, *, wait_for_ready=True):
    method = channel.unary_unary(
        "/crossbridge.provider.v1alpha1.PluginService/GetPluginInfo",
        request_serializer=wire.GetPluginInfoRequest.SerializeToString,
        response_deserializer=wire.GetPluginInfoResponse.FromString,
    )
    return method(wire.GetPluginInfoRequest(), timeout=LIMIT, wait_for_ready=wait_for_ready)


def unix(path):
    return grpc.insecure_channel(f"unix:{quote(str(path))}")


def free_port():
    # Below those that the system gives away: none of them is taken before the plugin binds it.
    for _ in range(100):
        port = random.randrange(10_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_plugin_with_exit_code_0(tmp_path, number):
    # A path is taken as it is written.
    path = tmp_path / "a b%20.sock"
    with process(f"unix://{path}") as running, unix(path) as channel:
        assert info(channel).name == "vectors.example.org"
        assert path.stat().st_mode & 0o777 == 0o600
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(), timeout=LIMIT)
        assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
        running.send_signal(number)
        assert next(watch).status == health_pb2.HealthCheckResponse.NOT_SERVING
        # The stream is not waited for.
        assert ended(running)[0] == 0
        assert list(tmp_path.iterdir()) == []


def test_a_folder_with_the_setgid_bit_lets_its_group_connect(tmp_path):
    tmp_path.chmod(0o2770)
    path = tmp_path / "p.sock"
    with process(f"unix://{path}"), unix(path) as channel:
        assert info(channel).name == "vectors.example.org"
        assert path.stat().st_mode & 0o777 == 0o660


def test_a_stale_socket_is_replaced_and_one_in_use_is_not(tmp_path):
    path = tmp_path / "plugin.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    with process(f"unix://{path}") as first, unix(path) as channel:
        instance = info(channel).instance_id
        with process(f"unix://{path}") as second:
            code, said = ended(second)
        assert code == 1
        assert "another process serves there" in said
        assert info(channel).instance_id == instance
        first.kill()
        first.wait(LIMIT)
    assert path.is_socket()
    with process(f"unix://{path}"), unix(path) as channel:
        assert info(channel).instance_id != instance


def test_a_plain_file_is_kept(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("keep")
    with process(f"unix://{path}") as running:
        code, said = ended(running)
    assert (code, path.read_text()) == (1, "keep")
    assert "no socket" in said
    assert "Traceback" not in said


def test_two_processes_of_one_id_do_not_take_each_other_s_socket(tmp_path):
    # Containers that share a folder, and each of whose plugins is process 1.
    names = []

    def bind(address):
        names.append(address)
        with socket.socket(socket.AF_UNIX) as bound_socket:
            bound_socket.bind(address.removeprefix("unix:"))

    for name in ("a.sock", "b.sock"):
        with unix_socket.bound(tmp_path / name, bind):
            assert (tmp_path / name).is_socket()
    assert len(set(names)) == 2


def test_a_port_in_use_is_an_error():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with process(f"http://127.0.0.1:{taken.getsockname()[1]}") as running:
            code, said = ended(running)
    assert code == 1
    assert "cannot serve at" in said


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_reflection_describes_the_contract(tmp_path, version):
    path = tmp_path / "plugin.sock"
    with process(f"unix://{path}"), unix(path) as channel:
        method = channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )
        symbol = "crossbridge.provider.v1alpha1.Outcome"
        asked = [reflection_pb2.ServerReflectionRequest(list_services=""), reflection_pb2.ServerReflectionRequest(file_containing_symbol=symbol)]
        listed, described = method(iter(asked), timeout=LIMIT, wait_for_ready=True)
        services = {service.name for service in listed.list_services_response.service}
        assert {f"crossbridge.provider.v1alpha1.{name}Service" for name in ("Plugin", "Resource", "Discovery")} <= services
        assert described.file_descriptor_response.file_descriptor_proto


def client(authority, signed=None):
    pair = {} if signed is None else {"private_key": signed.key, "certificate_chain": signed.certificate}
    return grpc.ssl_channel_credentials(authority.certificate, **pair)


def served(port, credentials):
    """What a new connection gets; None: the client is not served."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.secure_channel(f"localhost:{port}", credentials, options) as channel:
        try:
            return info(channel, wait_for_ready=False).name
        except grpc.RpcError:
            return None


def test_tls_needs_certificates_on_both_sides_and_follows_its_files(tmp_path):
    ours, others = Authority(), Authority()
    files = {name: tmp_path / name for name in ("cert", "key", "ca")}

    def write(authority):
        signed = authority.signed()
        # As a kubelet does it: all at once.
        for name, content in (("cert", signed.certificate), ("key", signed.key), ("ca", authority.certificate)):
            fresh = tmp_path / f"{name}.new"
            fresh.write_bytes(content)
            fresh.rename(files[name])

    write(ours)
    port = free_port()
    environment = {f"PROVIDER_PLUGIN_TLS_{name.upper()}": str(path) for name, path in files.items()}
    with process(f"https://127.0.0.1:{port}", **environment) as running:
        deadline = time.monotonic() + LIMIT
        while served(port, client(ours, ours.signed())) is None:
            assert time.monotonic() < deadline
        assert served(port, client(ours)) is None
        assert served(port, client(ours, others.signed())) is None
        # What cannot be read leaves what was read last.
        files["key"].write_text("no key")
        assert served(port, client(ours, ours.signed())) == "vectors.example.org"
        write(others)
        assert served(port, client(others, others.signed())) == "vectors.example.org"
        assert served(port, client(ours, ours.signed())) is None
        running.send_signal(signal.SIGTERM)
        code, said = ended(running)
    assert code == 0
    assert said.count("failed to read the changed TLS files") == 1
    assert said.count("the TLS files were read anew") == 1


def test_a_client_bears_the_name_that_is_set(tmp_path):
    ours = Authority()
    signed = ours.signed()
    files = {"cert": signed.certificate, "key": signed.key, "ca": ours.certificate}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    environment = {f"PROVIDER_PLUGIN_TLS_{name.upper()}": str(tmp_path / name) for name in files}
    cases = [
        ("bridge.example.org", "DNS:other.example.org,DNS:Bridge.example.org", True),
        ("bridge.example.org", "DNS:*.example.org", True),
        ("bridge.example.org", "DNS:other.example.org", False),
        ("bridge.example.org", "DNS:*.bridge.example.org", False),
        ("example.org", "DNS:*.org", False),
        # Neither is a name of a host.
        ("bridge.example.org", "URI:https://bridge.example.org", False),
        ("localhost", "IP:127.0.0.2", False),
        ("127.0.0.2", "IP:127.0.0.2", True),
        ("127.0.0.2", "DNS:localhost,IP:127.0.0.1", False),
    ]
    for name, names, is_served in cases:
        port = free_port()
        with process(f"https://127.0.0.1:{port}", PROVIDER_PLUGIN_TLS_CLIENT_NAME=name, **environment) as running:
            credentials = client(ours, ours.signed(names))
            with grpc.secure_channel(f"localhost:{port}", credentials, [("grpc.use_local_subchannel_pool", 1)]) as channel:
                if is_served:
                    assert info(channel).name == "vectors.example.org"
                    status = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=LIMIT).status
                    assert status == health_pb2.HealthCheckResponse.SERVING
                    watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(), timeout=LIMIT)
                    assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
                else:
                    with pytest.raises(grpc.RpcError) as refused:
                        info(channel)
                    assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
                    with pytest.raises(grpc.RpcError):
                        next(health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(), timeout=LIMIT))
            running.send_signal(signal.SIGTERM)
            assert ended(running)[0] == 0


def test_a_name_of_clients_that_is_none_ends_the_process():
    with process("https://127.0.0.1:0", PROVIDER_PLUGIN_TLS_CLIENT_NAME="not a name") as running:
        code, said = ended(running)
    assert code == 1
    assert "PROVIDER_PLUGIN_TLS_CLIENT_NAME is neither" in said
