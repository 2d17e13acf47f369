// Package web is for the pages that people see. It holds the scripts of those
// pages.
package web

import "embed"

// static holds what browsers load beside the pages.
//
//go:embed static
var static embed.FS
