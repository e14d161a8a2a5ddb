// Unit tests of a plugin, in process: the lab.

export { Answer, type FailureAnswer, type FoundAnswer, ObserveAnswer, type OperationAnswer } from "./answers.js";
export { Lab, type LabOptions } from "./lab.js";
export { TestResource } from "./resource.js";
export { Killed } from "./upstream.js";
