package main

import (
	"bytes"
	"debug/buildinfo"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom lists the modules that are linked in, as the binary knows them.
func (r *release) sbom(binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	library := func(path, version string) cdx.Component {
		url := "pkg:golang/" + path + "@" + version
		return cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url}
	}
	components := []cdx.Component{library("std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, module := range info.Deps { // sorted by path
		if module.Replace != nil {
			module = module.Replace
		}
		components = append(components, library(module.Path, module.Version))
	}
	self := library(info.Main.Path, "v"+r.version)
	self.Type, self.Name, self.Version = cdx.ComponentTypeApplication, "formulary", r.version
	self.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
	needs := make([]string, len(components))
	for i, c := range components {
		needs[i] = c.BOMRef
	}
	bom := cdx.NewBOM() // without a serial number, which would be random
	bom.Metadata = &cdx.Metadata{Timestamp: r.time.Format(time.RFC3339), Component: &self}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: self.BOMRef, Dependencies: &needs}}
	return r.create("formulary_"+r.version+"_sbom.cdx.json", func(b *bytes.Buffer) error {
		return cdx.NewBOMEncoder(b, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}
