import assert from "node:assert/strict";
import { test } from "node:test";

import { parse } from "./endpoint.js";

test("endpoints are read", () => {
  assert.deepEqual(parse("unix:///run/a b%20.sock"), { path: "/run/a b%20.sock" });
  assert.deepEqual(parse("https://host:443"), { address: "host:443", tls: true });
  assert.deepEqual(parse("http://127.0.0.1:80/"), { address: "127.0.0.1:80", tls: false });
  assert.deepEqual(parse("http://[::1]:9000"), { address: "[::1]:9000", tls: false });
});

test("an unservable endpoint is rejected", () => {
  const others = ["", "plugin.sock", "unix://plugin.sock", "http://0.0.0.0:80", "http://127.0.0.1", "https://host", "HTTPS://127.0.0.1:443"];
  for (const endpoint of others) {
    assert.throws(() => parse(endpoint), /write unix:/, endpoint);
  }
});
