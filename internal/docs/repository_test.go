package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the root of the repository.
const root = "../.."

// read returns a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// files returns the paths of the repository's files with one of these suffixes.
// The paths have slashes and are relative to the root. Built files and hidden
// folders are left out.
func files(t *testing.T, suffixes ...string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin") {
			return filepath.SkipDir
		}
		for _, suffix := range suffixes {
			if entry.Type().IsRegular() && strings.HasSuffix(path, suffix) {
				relative, err := filepath.Rel(root, path)
				if err != nil {
					return err
				}
				found = append(found, filepath.ToSlash(relative))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatalf("no files that end in %v", suffixes)
	}
	return found
}

// exists reports whether the repository has a file or folder with that path.
func exists(path string) bool {
	_, err := os.Stat(filepath.Join(root, path))
	return err == nil
}
