/** Composes a timetable: a ConfigMap for each line, and the number of its departures in the status. */

import {
  type ComposeFunction,
  Ready,
  type RunFunctionRequest,
  fatal,
  fromObject,
  getObservedComposedResources,
  setDesiredCompositeStatus,
} from "@crossplane-org/function-sdk-typescript";

/** As the definition's schema has it. */
interface Line {
  readonly name: string;
  readonly departures: readonly string[];
}

/** Answers with all that is desired now. What is missing in the answer is deleted. `rsp` passes on what the steps before desire. */
export const compose: ComposeFunction = (req, rsp) => {
  const lines = linesOf(req);
  const twice = lines.find((line, at) => lines.findIndex((other) => other.name === line.name) !== at);
  if (twice) {
    return fatal(rsp, `spec.lines names ${twice.name} twice: write its departures in one line`);
  }
  const observed = getObservedComposedResources(req);
  for (const line of lines) {
    // The composition resource name: the same for the same line, wherever in the list it is.
    const name = `line-${line.name}`;
    const object = {
      apiVersion: "v1",
      kind: "ConfigMap",
      data: { line: line.name, "departures.txt": line.departures.join("\n") },
    };
    // It has no condition Ready: that it exists is all there is to wait for.
    const ready = name in observed ? Ready.READY_TRUE : Ready.READY_FALSE;
    rsp.desired.resources[name] = fromObject(object, undefined, ready);
  }
  const departures = lines.reduce((sum, line) => sum + line.departures.length, 0);
  setDesiredCompositeStatus({ rsp, status: { departures } });
  return rsp;
};

/** The API server has checked it by the definition's schema. */
function linesOf(req: RunFunctionRequest): readonly Line[] {
  const composite = req.observed?.composite?.resource as { spec?: { lines?: Line[] } } | undefined;
  return composite?.spec?.lines ?? [];
}
