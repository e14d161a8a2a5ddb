#!/usr/bin/env node
// `bakery-plugin`: serves until SIGTERM.

import { run } from "@crossbridge/sdk";

import { bakery } from "./plugin.js";

await run(bakery);
