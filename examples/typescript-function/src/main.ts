/** Serves the function; `--help` lists the flags, which are those of every function on this SDK. */

import { serve } from "@crossplane-org/function-sdk-typescript";

import { compose } from "./function.js";

serve(compose);
