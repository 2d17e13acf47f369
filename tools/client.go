//go:build tools

// Package tools pins what `go tool` runs. What generated clients import stands
// here so that go.sum knows it: a test compiles such a client.
package tools

import (
	_ "github.com/getkin/kin-openapi/openapi3"
	_ "github.com/labstack/echo/v4"
	_ "github.com/oapi-codegen/runtime"
)
