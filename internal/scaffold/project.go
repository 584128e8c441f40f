package scaffold

import (
	_ "embed"
	"strconv"
	"strings"
)

//go:embed project.txtar
var archive string

const (
	// Fairlead is the module that every project requires.
	Fairlead = "github.com/fairlead-k8s/fairlead"

	exampleModule  = Fairlead + "/examples/provider"
	exampleName    = "acme"
	exampleVersion = Fairlead + " v0.0.0\n"
	exampleReplace = "replace " + Fairlead + " => ../..\n\n"
)

// Project describes the project to make.
type Project struct {
	// Name is the name of the cloud. It is the value of --cloud-provider and the
	// scheme of provider IDs.
	Name string
	// Module is the path of the Go module.
	Module string
	// Version is the version of Fairlead's module. It is empty if Checkout is
	// given.
	Version string
	// Checkout is the path of the folder with Fairlead's sources. It is written to
	// go.mod in a replace directive. It is empty if Version is given.
	Checkout string
}

// File is one file of a project.
type File struct {
	// Path is relative to the project's folder, with slashes.
	Path string
	Text string
}

// Files returns all files of the project, in the order of their paths.
func (p Project) Files() []File {
	rename := strings.NewReplacer(exampleModule, p.Module, exampleName, p.Name)
	files := unpack(archive)
	for n, f := range files {
		files[n].Text = rename.Replace(f.Text)
		if f.Path == "go.mod" { // This comes after the renaming, which must not change the path of the checkout.
			files[n].Text = p.requirements(files[n].Text)
		}
	}
	return files
}

// requirements inserts the requirement of Fairlead into the text of go.mod.
func (p Project) requirements(text string) string {
	if p.Checkout != "" {
		return strings.Replace(text, exampleReplace, "replace "+Fairlead+" => "+quoted(p.Checkout)+"\n\n", 1)
	}
	text = strings.Replace(text, exampleReplace, "", 1)
	return strings.Replace(text, exampleVersion, Fairlead+" "+p.Version+"\n", 1)
}

// quoted returns a path in the form in which "go mod tidy" writes it to go.mod.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\r\n\"'`()[]{},") || strings.Contains(path, "//") {
		return strconv.Quote(path)
	}
	return path
}

// The archive has the format of golang.org/x/tools/txtar: a line "-- path --"
// comes before each file.
const marker, markerEnd = "-- ", " --"

func unpack(archive string) []File {
	var files []File
	for line := range strings.Lines(archive) {
		path, isMarker := strings.CutPrefix(strings.TrimSuffix(line, "\n"), marker)
		if path, ok := strings.CutSuffix(path, markerEnd); ok && isMarker {
			files = append(files, File{Path: path})
			continue
		}
		if len(files) > 0 { // the part before the first file is a comment
			files[len(files)-1].Text += line
		}
	}
	return files
}
