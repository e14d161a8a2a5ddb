package crossbridge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// EnsureOwned rejects a resource that this object does not own, by the marker found on it, as the contract has it for the call at hand: another owner's
// marker always; none where the call is Delete or a poll and the kind has [RecoverByMarker]. An update accepts one without a marker: it adopts it.
// The error is a [NotFound].
func (c *Call) EnsureOwned(foundMarker string) error {
	switch {
	case c.Owns(foundMarker), foundMarker == "" && !c.requiresMarker:
		return nil
	case foundMarker == "":
		return NotFound("%q is no owner's: it has no ownership marker", c.ExternalName).WithReason("NotOwned")
	}
	return NotFound("%q is another owner's", c.ExternalName).WithReason("NotOwned")
}

func ensureETag(sent, current string) error {
	if sent != "" && sent != current {
		return Conflict("the resource was changed since it was observed").WithReason("EtagChanged")
	}
	return nil
}

// EnsureETag rejects what was changed since the bridge observed it: the error is a [Conflict].
func (r *UpdateRequest[P, S]) EnsureETag(current string) error { return ensureETag(r.ETag, current) }

// EnsureETag rejects what was changed since the bridge observed it: the error is a [Conflict].
func (r *DeleteRequest[P, S]) EnsureETag(current string) error { return ensureETag(r.ETag, current) }

// NameOfToken is a name that the same token always gives: the prefix, and so many hexadecimal digits, at most 64.
func (r *CreateRequest[P, S]) NameOfToken(prefix string, digits int) string {
	return prefix + hexDigest(strings.ToLower(r.Token))[:max(0, min(digits, 2*sha256.Size))]
}

// Digest of all that makes two requests the same, for upstreams that keep no more than the token: type, config, name, marker and parameters. Sensitive
// values are no part of it: the bridge repeats a creation with those of today.
func (r *CreateRequest[P, S]) Digest() string {
	// Members in order, numbers to the last digit; it was read before.
	decoder := json.NewDecoder(bytes.NewReader(r.JSON))
	decoder.UseNumber()
	var parameters any
	_ = decoder.Decode(&parameters)
	text, _ := json.Marshal([]any{r.resourceType, r.Config.ID, r.ExternalName, r.OwnershipMarker, parameters})
	return hexDigest(string(text))
}

// EnsureSameRequest rejects another request that came under the same token, by the [CreateRequest.Digest] that was stored with it: the error is
// a [TokenReused].
func (r *CreateRequest[P, S]) EnsureSameRequest(storedDigest string) error {
	if storedDigest != r.Digest() {
		return TokenReused("another request came earlier under this token")
	}
	return nil
}

func hexDigest(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:])
}
