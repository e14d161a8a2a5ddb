// Why a type cannot be published.

/** What no structural schema can express: the field in the author's schema, and why. */
export class NotStructural extends Error {
  constructor(
    readonly path: string,
    readonly problem: string,
  ) {
    super(path === "" ? problem : `${path}: ${problem}`);
  }
}
