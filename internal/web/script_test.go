//go:build !race

package web

import (
	"path"
	"testing"

	"modernc.org/quickjs"

	"github.com/formulary/formulary/internal/testkit"
)

// The race detector makes the engine many times slower, so files that use it leave out
// race builds.

// newVM returns a JavaScript engine in which the modules of static import each other by
// file name.
func newVM(t *testing.T) *quickjs.VM {
	t.Helper()
	vm, err := quickjs.NewVM()
	testkit.Must(t, err)
	t.Cleanup(func() {
		if err := vm.Close(); err != nil {
			t.Error(err)
		}
	})
	vm.SetModuleLoader(
		func(_ *quickjs.VM, name string) (string, error) {
			text, err := staticFS.ReadFile("static/" + name)
			return string(text), err
		},
		func(_ *quickjs.VM, _, name string) (string, error) { return path.Base(name), nil },
	)
	return vm
}

// runModule evaluates the source of a module.
func runModule(t *testing.T, vm *quickjs.VM, source string) {
	t.Helper()
	if _, err := vm.Eval(source, quickjs.EvalModule); err != nil {
		t.Fatal(err)
	}
}

// call calls a global function that takes and returns a text.
func callScript(t *testing.T, vm *quickjs.VM, function, argument string) string {
	t.Helper()
	result, err := vm.Call(function, argument)
	testkit.Must(t, err)
	text, ok := result.(string)
	if !ok {
		t.Fatalf("%s returned %v (%T) instead of a text", function, result, result)
	}
	return text
}
