package main

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// untilCached waits until the cache holds what was written, in favour of this side: a pass over a former version would
// apply its conditions again, and that makes for another pass, and so on.
func untilCached(ctx context.Context, cached client.Client, written *unstructured.Unstructured) error {
	version := func(object *unstructured.Unstructured) int {
		version, _ := strconv.Atoi(object.GetResourceVersion())
		return version
	}
	return untilHeld(ctx, cached, written, func(held *unstructured.Unstructured) bool {
		return version(held) >= version(written)
	})
}

// untilAbsent is the same of what has lost its last finalizer.
func untilAbsent(ctx context.Context, cached client.Client, deleted *unstructured.Unstructured) error {
	return untilHeld(ctx, cached, deleted, func(*unstructured.Unstructured) bool { return false })
}

// untilHeld waits until the cache holds what is expected, or nothing.
func untilHeld(ctx context.Context, cached client.Client, object *unstructured.Unstructured,
	isExpected func(held *unstructured.Unstructured) bool,
) error {
	held := newObject(object.GroupVersionKind())
	for {
		err := cached.Get(ctx, client.ObjectKeyFromObject(object), held)
		if err != nil || isExpected(held) {
			return client.IgnoreNotFound(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// setObjectCondition leaves one that says the same as it was, with its time.
func setObjectCondition(object *unstructured.Unstructured, kind, status, reason, message string) {
	wanted := map[string]any{"type": kind, "status": status, "reason": reason}
	if message != "" {
		wanted["message"] = message
	}
	wanted["observedGeneration"] = object.GetGeneration()
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	at := slices.IndexFunc(list, func(held any) bool { return held.(map[string]any)["type"] == kind })
	if at >= 0 {
		held := maps.Clone(list[at].(map[string]any))
		delete(held, "lastTransitionTime")
		if equality.Semantic.DeepEqual(held, wanted) {
			return
		}
	}
	wanted["lastTransitionTime"] = time.Now().UTC().Format(time.RFC3339)
	if at >= 0 {
		list[at] = wanted
	} else {
		list = append(list, wanted)
	}
	_ = unstructured.SetNestedSlice(object.Object, list, "status", "conditions")
}
