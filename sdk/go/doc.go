// Package crossbridge is for authors of Crossbridge plugins.
//
// A plugin makes one cloud's resources available in Kubernetes. Its author writes, for each kind, a struct for the parameters, a struct for the status,
// and a [Resource]; [Plugin] collects the kinds, and [Main] serves them. The runtime bridge does everything that is Kubernetes.
//
// # Types
//
// The JSON of a struct is the user's YAML. A field is optional if it is a pointer, has omitempty or omitzero, or a default. Beside the json tag a field
// may have
//
//	doc          its description; that of a struct stands at a field `_ struct{}`
//	default      what an absent field means
//	enum         the values that it may have, separated by commas
//	pattern, format, minimum, maximum, minLength, maxLength, minItems, maxItems …   as in OpenAPI
//	x-kubernetes-list-type, x-kubernetes-map-type …   as Kubernetes has them
//	crossbridge  rules: sensitive, immutable, setOnce, lateInitialized, writeOnly, caseInsensitive, jsonText, quantity,
//	             reference=Kind.group/version, perhaps with #/pointer into the status
//
// # What an author can rely on
//
// A request is complete and in form before the author's code sees it. The context of a call is done at its deadline, and at once when the caller has gone. A
// panic ends that call only (save in a goroutine that the author's code started). An answer is checked before it leaves: one that breaks the contract becomes
// an INTERNAL failure, and an error in the log. No credential and no sensitive value stands in what leaves, in the SDK's log, or in what fmt prints of a
// request.
//
// The package crossbridgetest drives a plugin in a unit test.
package crossbridge
