package crossbridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"crossbridge.dev/sdk/go/internal/check"
)

// EncodeHandle writes a handle, or a provider state, that the next build can read: the version of its form, then its fields. What is put in is
// what is needed to ask the upstream (an operation's id, a name, a region): no secret, no time, nothing of this process. More than 4 KiB are an error.
func EncodeHandle[T any](version int, state T) (string, error) {
	text, err := json.Marshal(state)
	if err != nil {
		return "", fmt.Errorf("the handle of %T cannot be written: %w", state, err)
	}
	handle := strconv.Itoa(version) + ":" + string(text)
	if len(handle) > check.StateLimit {
		return "", fmt.Errorf("the handle of %T cannot be written: it has %d bytes, and %d are allowed", state, len(handle), check.StateLimit)
	}
	return handle, nil
}

// FormerHandle reads what an earlier version of a handle wrote: build it with [Former].
type FormerHandle[T any] struct {
	read func(handle string) (T, bool)
}

// Former reads a handle of an earlier version, whose fields were Old, as one of today.
func Former[Old, T any](version int, upgrade func(Old) T) FormerHandle[T] {
	return FormerHandle[T]{func(handle string) (today T, is bool) {
		old, is := handleOf[Old](handle, version)
		if !is {
			return today, false
		}
		return upgrade(old), true
	}}
}

// DecodeHandle reads a handle of this version of its form, or of an earlier one that is given: the error is a [Reject] of the field ("handle",
// "target.provider_state"). A handle that [EncodeHandle] did not write is rejected, down to its spelling.
func DecodeHandle[T any](field, handle string, version int, former ...FormerHandle[T]) (T, error) {
	state, is := handleOf[T](handle, version)
	for _, earlier := range former {
		if is {
			break
		}
		state, is = earlier.read(handle)
	}
	if !is {
		return state, Reject(field, "is malformed or foreign: none of this plugin's")
	}
	return state, nil
}

func handleOf[T any](handle string, version int) (T, bool) {
	var none, state T
	text, is := strings.CutPrefix(handle, strconv.Itoa(version)+":")
	if !is {
		return none, false
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&state); err != nil {
		return none, false
	}
	if again, err := EncodeHandle(version, state); err != nil || again != handle {
		return none, false
	}
	return state, true
}
