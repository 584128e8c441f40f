package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// release is a release for which a bill is made.
type release struct {
	name, version string
	made          time.Time
	programs      []program
	licences      map[string][]string // by the path of the module
}

// program is one file of the release, with the build information that Go has
// recorded in it.
type program struct {
	name, sha256 string
	info         *debug.BuildInfo
}

// bill and the types below it are the part of CycloneDX 1.6 that this program
// writes.
type bill struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Ref        string          `json:"bom-ref"`
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Version    string          `json:"version"`
	Hashes     []hash          `json:"hashes,omitempty"`
	Licences   []licenceChoice `json:"licenses,omitempty"`
	PURL       string          `json:"purl,omitempty"`
	Properties []property      `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licenceChoice struct {
	Licence licence `json:"license"`
}

type licence struct {
	ID string `json:"id"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// billOf returns the bill of a release. It returns an error if the licence of a
// module is not known, because then THIRD_PARTY.md is out of date.
func billOf(r release) (bill, error) {
	if r.name == "" || r.version == "" || len(r.programs) == 0 {
		return bill{}, errors.New("a release has a name, a version and programs")
	}
	root := component{Ref: r.name, Type: "application", Name: r.name, Version: r.version}
	modules := map[string]component{}
	var programs []component
	var links []dependency
	for _, p := range r.programs {
		c := component{
			Ref: r.name + "/" + p.name, Type: "application", Name: p.name, Version: r.version,
			Hashes: []hash{{Algorithm: "SHA-256", Content: p.sha256}},
		}
		used, err := modulesOf(p, r.licences)
		if err != nil {
			return bill{}, err
		}
		link := dependency{Ref: c.Ref}
		for _, m := range used {
			modules[m.Ref] = m
			link.DependsOn = append(link.DependsOn, m.Ref)
		}
		programs, links = append(programs, c), append(links, link)
	}
	all := dependency{Ref: root.Ref}
	for _, p := range programs {
		all.DependsOn = append(all.DependsOn, p.Ref)
	}
	components := programs
	for _, ref := range slices.Sorted(maps.Keys(modules)) {
		components = append(components, modules[ref])
	}
	return bill{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata:   metadata{Timestamp: r.made.UTC().Format(time.RFC3339), Component: root},
		Components: components, Dependencies: append([]dependency{all}, links...),
	}, nil
}

// modulesOf returns the modules in a program, including Go's standard library. They
// are sorted by their references.
func modulesOf(p program, licences map[string][]string) ([]component, error) {
	version := strings.TrimPrefix(p.info.GoVersion, "go")
	std := component{Ref: "pkg:golang/std@" + version, Type: "library", Name: "std", Version: version, Licences: choices([]string{"BSD-3-Clause"})}
	std.PURL = std.Ref
	found := []component{std}
	for _, m := range p.info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		ids, known := licences[m.Path]
		if !known {
			return nil, fmt.Errorf("%s: the licence of %s is not known, run make generate", p.name, m.Path)
		}
		// In a package URL, a plus sign would be read as a space.
		purl := "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
		found = append(found, component{
			Ref: purl, Type: "library", Name: m.Path, Version: m.Version, Licences: choices(ids), PURL: purl,
			Properties: []property{{Name: "fairlead:go.sum", Value: m.Sum}},
		})
	}
	slices.SortFunc(found, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
	return found, nil
}

// choices returns the licences in the form of CycloneDX.
func choices(ids []string) []licenceChoice {
	var all []licenceChoice
	for _, id := range ids {
		all = append(all, licenceChoice{Licence: licence{ID: id}})
	}
	return all
}

// licencesOf returns the licences in the table of THIRD_PARTY.md, by module.
func licencesOf(page string) map[string][]string {
	found := map[string][]string{}
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		path := strings.TrimSpace(cells[1])
		if module, ok := strings.CutPrefix(path, "`"); ok {
			found[strings.TrimSuffix(module, "`")] = strings.Split(strings.TrimSpace(cells[3]), ", ")
		}
	}
	return found
}

// readProgram reads a program with the build information that Go has recorded in
// it.
func readProgram(file string) (program, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return program{}, err
	}
	content, err := os.ReadFile(file) //nolint:gosec // the caller names its own file
	if err != nil {
		return program{}, err
	}
	sum := sha256.Sum256(content)
	return program{name: filepath.Base(file), sha256: hex.EncodeToString(sum[:]), info: info}, nil
}
