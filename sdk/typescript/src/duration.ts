// Lengths of time, with their units.

import { type Duration as WireDuration } from "@bufbuild/protobuf/wkt";

/** A length of time, with its units: `{ seconds: 30 }`, `{ minutes: 1, seconds: 30 }`. */
export interface Duration {
  days?: number;
  hours?: number;
  minutes?: number;
  seconds?: number;
  milliseconds?: number;
}

/** The contract's "for ever": 10,000 years. */
export const forEver: Duration = Object.freeze({ hours: 87_660_000 });

const FOR_EVER_MS = 87_660_000 * 3_600_000;

/** In milliseconds. */
export const milliseconds = ({ days = 0, hours = 0, minutes = 0, seconds = 0, milliseconds = 0 }: Duration): number =>
  (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + milliseconds;

/** Whether it is a length of time that can be sent: no number at all, or a negative one, cannot. */
export const isDuration = (duration: Duration): boolean => milliseconds(duration) >= 0;

/** What is longer than the contract can express means for ever; what is no length of time, none at all. */
export function wireDuration(duration: Duration): Pick<WireDuration, "seconds" | "nanos"> {
  const whole = isDuration(duration) ? Math.round(Math.min(milliseconds(duration), FOR_EVER_MS)) : 0;
  return { seconds: BigInt(Math.floor(whole / 1000)), nanos: (whole % 1000) * 1_000_000 };
}

/** Of the wire, in milliseconds. */
export const wireMilliseconds = ({ seconds, nanos }: Pick<WireDuration, "seconds" | "nanos">): number => Number(seconds) * 1000 + nanos / 1_000_000;
