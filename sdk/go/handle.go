package crossbridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// EncodeHandle writes a handle, or a provider state, that the next build can read: the version of its form, then its fields. What is put in is
// what is needed to ask the upstream (an operation's id, a name, a region): no secret, no time, nothing of this process.
func EncodeHandle[T any](version int, state T) (string, error) {
	text, err := json.Marshal(state)
	if err != nil {
		return "", fmt.Errorf("the handle of %T cannot be written: %w", state, err)
	}
	return strconv.Itoa(version) + ":" + string(text), nil
}

// DecodeHandle reads a handle of this version of its form: the error is a [Reject] of the field ("handle", "target.provider_state"). A handle that
// [EncodeHandle] did not write is rejected, down to its spelling. A plugin that has several versions tries the newest first.
func DecodeHandle[T any](field, handle string, version int) (T, error) {
	var state T
	text, is := strings.CutPrefix(handle, strconv.Itoa(version)+":")
	if !is {
		return state, Reject(field, "is of no form that this plugin knows")
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&state); err != nil {
		return state, Reject(field, "is malformed")
	}
	if again, err := EncodeHandle(version, state); err != nil || again != handle {
		return state, Reject(field, "is malformed")
	}
	return state, nil
}
