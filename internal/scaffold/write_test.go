package scaffold

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrite(t *testing.T) {
	files := []File{{"a", "1"}, {"b/c", "2"}, {"b/d", "3"}}
	for name, row := range map[string]struct {
		before []File
		want   string // the text after the folder in the error; "" for no error
		after  []File
	}{
		"IntoNothing":       {nil, "", files},
		"BesideOthers":      {[]File{{"other", "0"}}, "", append(files, File{"other", "0"})},
		"OverNone":          {[]File{{"b/d", "0"}}, "/b/d exists already; nothing was written, because existing files are not overwritten: move it away, or choose another folder", []File{{"b/d", "0"}}},
		"OverSeveral":       {[]File{{"a", "0"}, {"b/d", "0"}}, "/a exists already, and 1 more; nothing was written, because existing files are not overwritten: move it away, or choose another folder", []File{{"a", "0"}, {"b/d", "0"}}},
		"FolderIsInTheWay":  {[]File{{"a/x", "0"}}, "/a exists already; nothing was written, because existing files are not overwritten: move it away, or choose another folder", []File{{"a/x", "0"}}},
		"OverNoEqualEither": {[]File{{"a", "1"}}, "/a exists already; nothing was written, because existing files are not overwritten: move it away, or choose another folder", []File{{"a", "1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "project")
			for _, f := range row.before {
				if err := create(filepath.Join(dir, f.Path), f.Text); err != nil {
					t.Fatal(err)
				}
			}
			err := Write(dir, files)
			if want := row.want; want != "" && (err == nil || err.Error() != dir+want) || want == "" && err != nil {
				t.Errorf("got error %v, want %q", err, want)
			}
			if d := cmp.Diff(row.after, read(t, dir)); d != "" {
				t.Errorf("files (-want +got):\n%s", d)
			}
		})
	}
}

// A dangling link counts as a file, because a write through the link would create
// a file elsewhere.
func TestWriteFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("elsewhere", filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, []File{{"a", "1"}}); err == nil {
		t.Error("a link was written through")
	}
}

func TestWriteSaysThatAFileIsInTheWay(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "a file is where a folder should be; choose another one: lstat "
	for _, folder := range []string{"a", "a/b"} {
		if err := Write(filepath.Join(dir, folder), []File{{Path: "c"}}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", folder, err, want)
		}
	}
}

func TestWriteLeavesNoPart(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{dir, dir + "/new/project"} {
		if err := Write(folder, []File{{Path: "a"}, {Path: "x/y/z"}, {Path: "b"}, {Path: "b/c"}}); err == nil {
			t.Fatal("a file was written into a file")
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}
}
