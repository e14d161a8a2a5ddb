// Until when a call may work.

/** Longest wait that a timer of Node.js takes. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * The moment after which a call begins nothing upstream any more. It lies a little before the caller's own, so that the answer has time to travel.
 * `call.signal` is aborted then.
 */
export class Deadline {
  readonly #monotonic: number;
  /** On the wall clock. */
  readonly time: Date;

  private constructor(remaining: number) {
    this.#monotonic = performance.now() + remaining;
    this.time = new Date(Date.now() + remaining);
  }

  /** A deadline that lies so many milliseconds ahead. */
  static after(milliseconds: number): Deadline {
    return new Deadline(Math.min(milliseconds, LONGEST_TIMER));
  }

  /** Milliseconds that are left, by the monotonic clock or the wall clock, whichever is further; 0 once it has passed. */
  get remaining(): number {
    return Math.max(0, Math.min(this.#monotonic - performance.now(), this.time.getTime() - Date.now()));
  }

  get hasPassed(): boolean {
    return this.remaining === 0;
  }
}
