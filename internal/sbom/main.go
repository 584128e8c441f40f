// Program sbom prints the bill of materials of programs in the JSON format of
// CycloneDX 1.6. The bill has the modules that Go has recorded in the programs, with
// their licences. "make release" calls this program.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// run reads the programs that the arguments name, and writes their bill to out.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	name := flags.String("name", "", "the name under which the programs are published")
	version := flags.String("version", "", "its version")
	seconds := flags.Int64("time", 0, "when it was made, in seconds since 1970: the time of the commit, so that the same source gives the same bill")
	page := flags.String("licences", "THIRD_PARTY.md", "the page with the licences of modules")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *name == "" || *version == "" || flags.NArg() == 0 {
		return errors.New("a release has a name, a version and programs")
	}
	text, err := os.ReadFile(*page)
	if err != nil {
		return err
	}
	root := object{"bom-ref": *name, "type": "application", "name": *name, "version": *version}
	var programs, links []object
	var refs []string
	modules := map[string]object{}
	for _, file := range flags.Args() {
		content, err := os.ReadFile(file) //nolint:gosec // the caller names its own file
		if err != nil {
			return err
		}
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			return err
		}
		used, err := modulesOf(info, licencesOf(string(text)))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		maps.Copy(modules, used)
		ref := *name + "/" + filepath.Base(file)
		refs = append(refs, ref)
		links = append(links, object{"ref": ref, "dependsOn": slices.Sorted(maps.Keys(used))})
		programs = append(programs, object{
			"bom-ref": ref, "type": "application", "name": filepath.Base(file), "version": *version,
			"hashes": []object{{"alg": "SHA-256", "content": fmt.Sprintf("%x", sha256.Sum256(content))}},
		})
	}
	for _, ref := range slices.Sorted(maps.Keys(modules)) {
		programs = append(programs, modules[ref])
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(object{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata":     object{"timestamp": time.Unix(*seconds, 0).UTC().Format(time.RFC3339), "component": root},
		"components":   programs,
		"dependencies": append([]object{{"ref": *name, "dependsOn": refs}}, links...),
	})
}

// object is an object of JSON.
type object map[string]any

// modulesOf returns the modules in a program, including Go's standard library, by their
// references. It returns an error if the licence of a module is not known, because then
// THIRD_PARTY.md is out of date.
func modulesOf(info *debug.BuildInfo, licences map[string][]string) (map[string]object, error) {
	std := &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}
	found := map[string]object{}
	for _, m := range append([]*debug.Module{std}, info.Deps...) {
		if m.Replace != nil {
			m = m.Replace
		}
		ids, known := licences[m.Path]
		if m == std {
			ids, known = []string{"BSD-3-Clause"}, true
		}
		if !known {
			return nil, fmt.Errorf("the licence of %s is not known, run make generate", m.Path)
		}
		var choices []object
		for _, id := range ids {
			choices = append(choices, object{"license": object{"id": id}})
		}
		// In a package URL, a plus sign would be read as a space.
		purl := "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
		found[purl] = object{"bom-ref": purl, "purl": purl, "type": "library", "name": m.Path, "version": m.Version, "licenses": choices}
		if m.Sum != "" {
			found[purl]["properties"] = []object{{"name": "fairlead:go.sum", "value": m.Sum}}
		}
	}
	return found, nil
}

// licencesOf returns the licences in the table of THIRD_PARTY.md, by module.
func licencesOf(page string) map[string][]string {
	found := map[string][]string{}
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		if module, ok := strings.CutPrefix(strings.TrimSpace(cells[1]), "`"); ok {
			found[strings.TrimSuffix(module, "`")] = strings.Split(strings.TrimSpace(cells[3]), ", ")
		}
	}
	return found
}
