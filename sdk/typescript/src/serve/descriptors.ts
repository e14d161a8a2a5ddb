// The contract's generated descriptors, as grpc-js wants its services.

import { type DescFile, type DescMessage, type DescService, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { ServiceDefinition } from "@grpc/grpc-js";

/** Methods by their name in TypeScript. */
export function definition(service: DescService): ServiceDefinition {
  return Object.fromEntries(
    service.methods.map((method) => [
      method.localName,
      {
        path: `/${service.typeName}/${method.name}`,
        requestStream: false,
        responseStream: false,
        requestSerialize: write(method.input),
        requestDeserialize: read(method.input),
        responseSerialize: write(method.output),
        responseDeserialize: read(method.output),
      },
    ]),
  );
}

const write = (schema: DescMessage) => (message: Message) => Buffer.from(toBinary(schema, message));
const read = (schema: DescMessage) => (bytes: Buffer) => fromBinary(schema, bytes);

/** The files of services and what they import, encoded, for reflection. */
export function files(services: readonly DescService[]): Buffer[] {
  const all = new Set<DescFile>();
  const add = (file: DescFile): void => {
    all.add(file);
    file.dependencies.filter((dependency) => !all.has(dependency)).forEach(add);
  };
  for (const service of services) add(service.file);
  return [...all].map((file) => Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)));
}
