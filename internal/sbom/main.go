// Program sbom prints the bill of materials of programs in the JSON format of
// CycloneDX. The bill has the modules that Go has recorded in the programs, with
// their licences. "make release" calls this program.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
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
	var (
		name     = flags.String("name", "", "the name under which the programs are published")
		version  = flags.String("version", "", "its version")
		seconds  = flags.Int64("time", 0, "when it was made, in seconds since 1970: the time of the commit, so that the same source gives the same bill")
		licences = flags.String("licences", "THIRD_PARTY.md", "the page with the licences of modules")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	page, err := os.ReadFile(*licences)
	if err != nil {
		return err
	}
	r := release{name: *name, version: *version, made: time.Unix(*seconds, 0), licences: licencesOf(string(page))}
	for _, file := range flags.Args() {
		p, err := readProgram(file)
		if err != nil {
			return err
		}
		r.programs = append(r.programs, p)
	}
	b, err := billOf(r)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(b)
}
