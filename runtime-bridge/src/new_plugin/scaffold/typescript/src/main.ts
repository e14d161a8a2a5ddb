import { run } from "@crossbridge/sdk";

import { plugin } from "./plugin.js";

await run(plugin);
