// Package request authenticates a request, opens its form, applies limits, reads
// bodies, files and list parameters, and maps errors to statuses. Packages rest
// and web both use it.
package request
