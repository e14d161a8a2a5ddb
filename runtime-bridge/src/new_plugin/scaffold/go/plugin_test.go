package main

import "testing"

func TestTheDeclarationsAreGood(t *testing.T) {
	if err := plugin().Check(); err != nil {
		t.Fatal(err)
	}
}
