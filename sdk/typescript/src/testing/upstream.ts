// An upstream that a plugin under test reaches through a gate: at the gate its process can die.

/** Thrown into code that calls a synchronous upstream after its process has died; what is asynchronous never goes on. */
export class Killed extends Error {
  override name = "Killed";
}

const never = new Promise<never>(() => undefined);

/**
 * One life of the plugin's process. Between two calls of the upstream nothing happens that anybody could see: so the points at which a death makes a
 * difference are right before each of them and right after.
 */
export class Life {
  readonly #death = new AbortController();
  #points = 0;
  #isDue: (point: number) => boolean = () => false;

  /** Aborted when the process dies. */
  get death(): AbortSignal {
    return this.#death.signal;
  }

  /** Dies at the first point, counted from 1 from now on, at which this is so. */
  dieWhen(isDue: (point: number) => boolean): void {
    this.#points = 0;
    this.#isDue = isDue;
  }

  die(): void {
    this.#death.abort();
  }

  /** Whether the code may go on beyond this point. */
  private passes(): boolean {
    if (this.#death.signal.aborted) return false;
    if (this.#isDue((this.#points += 1))) this.die();
    return !this.#death.signal.aborted;
  }

  /** The same upstream, as this life reaches it. */
  gate<T>(value: T): T {
    if (!isGated(value)) return value;
    return new Proxy(value, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key, target);
        return typeof member === "function" ? this.gatedFunction(member as AnyFunction, target) : this.gate(member);
      },
      apply: (target, _this, args: unknown[]) => this.call(target as unknown as AnyFunction, undefined, args),
    });
  }

  private gatedFunction(member: AnyFunction, target: object): AnyFunction {
    return (...args) => this.call(member, target, args);
  }

  private call(member: AnyFunction, target: unknown, args: unknown[]): unknown {
    if (!this.passes()) return this.stopped(member);
    const result: unknown = Reflect.apply(member, target, args);
    if (result instanceof Promise) {
      return result.then(
        (value: unknown) => (this.passes() ? this.gate(value) : never),
        (error: unknown) => {
          if (this.passes()) throw error;
          return never;
        },
      );
    }
    if (!this.passes()) throw new Killed();
    return this.gate(result);
  }

  /** An asynchronous function never returns; a synchronous one cannot but throw. Which it is cannot be told of all: what awaits the error is dead, too. */
  private stopped(member: AnyFunction): unknown {
    if (member.constructor.name === "AsyncFunction") return never;
    throw new Killed();
  }
}

type AnyFunction = (...args: unknown[]) => unknown;

/** What does something when it is called. Plain data, bytes, dates and errors do nothing. */
function isGated(value: unknown): value is object {
  if (typeof value === "function") return true;
  if (typeof value !== "object" || value === null) return false;
  if (value instanceof Uint8Array || value instanceof Date || value instanceof Error || value instanceof RegExp || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return true;
  return Object.values(value).some((member) => typeof member === "function");
}
