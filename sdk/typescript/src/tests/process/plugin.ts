// A plugin as a process of its own, whose kind behaves as its parameters say.

import { absent, alreadyDone, completed, kind, run, z } from "../../index.js";

const never = new Promise<never>(() => undefined);

const thing = kind({
  group: "things.example.org",
  version: "v1",
  kind: "Thing",
  parameters: z.object({
    mood: z.enum(["good", "waits", "throws", "throws-later", "rejects-later", "ignores", "throws-after", "endless-state"]).optional(),
  }),
  externalName: { source: "user", example: "a" },
  createRecovery: ["name"],
  examples: [{ name: "good", externalName: "a", create: {} }],
  observe: async () => absent(),
  async create(call) {
    switch (call.parameters.mood) {
      case "waits":
        process.stderr.write("waiting\n");
        await new Promise((resolve) => process.once("SIGUSR2", resolve));
        return completed();
      case "throws":
        throw new RangeError("swordfish");
      case "throws-later":
        setTimeout(() => {
          throw new RangeError("swordfish");
        }, 1);
        return never;
      case "rejects-later":
        setTimeout(() => {
          void Promise.reject(new RangeError("swordfish"));
        }, 1);
        return never;
      case "ignores":
        return never;
      case "throws-after":
        setTimeout(() => {
          throw new RangeError("swordfish");
        }, 50);
        return completed();
      case "endless-state":
        return completed(undefined, { providerState: "x".repeat(5000) });
      default:
        return completed();
    }
  },
  update: async () => completed(),
  delete: async () => alreadyDone(),
});

await run({ name: "things.example.org", version: "1.0.0", kinds: [thing] });
