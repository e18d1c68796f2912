package verbs

import (
	"bufio"
	"bytes"
	"cmp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// No line of any verb's help is wider than the terminal, but for examples, which are to be copied, and a word that is as long itself. At any
// width it has the same words.
func TestHelpFitsItsTerminal(t *testing.T) {
	var out bytes.Buffer
	a := &app{out: &out, err: &out}
	root := a.root()
	wide := 0
	for _, c := range append([]*cobra.Command{root}, root.Commands()...) {
		for _, columns := range []int{80, 100, helpColumns} {
			text := helpText(c, columns)
			if got, want := strings.Fields(text), strings.Fields(cmp.Or(c.Long, c.Short)+"\n"+c.UsageString()); !slices.Equal(got, want) {
				t.Errorf("%s in %d columns has other words:\n%s", c.Name(), columns, text)
			}
			for _, line := range strings.Split(text, "\n") {
				words := strings.Fields(line)
				if n := utf8.RuneCountInString(line); n > columns && len(words[0]) < columns/2 && !slices.Contains(strings.Split(c.Example+"\n"+c.Long, "\n"), line) {
					t.Errorf("%s in %d columns has %d: %s", c.Name(), columns, n, line)
				}
			}
			wide += strings.Count(text, "\n")
		}
	}
	if wide < 500 {
		t.Errorf("%d lines of help", wide)
	}
	screen, tty := terminal(t, 80, 24)
	if code := Main([]string{"help", "clean"}, tty, tty); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	if line, err := bufio.NewReader(screen).ReadString('\n'); err != nil || strings.TrimSpace(line) != "Clean removes rings in /dev/shm and sockets whose engines are proved dead:" {
		t.Errorf("on a terminal of 80 columns help begins with %q (%v)", line, err)
	}
}

func TestParagraphsAreFilled(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "\n",
		"aa bb\ncc":                   "aa bb cc\n",
		"aa bbb ccc d":                "aa bbb\nccc d\n",
		"äää äää äää":                 "äää äää\näää\n",
		"longer-than-it a":            "longer-than-it\na\n",
		"a:\n  kept   as it is\nb\nc": "a:\n  kept   as it is\nb c\n",
		"a\n\nb":                      "a\n\nb\n",
	} {
		if got := filled(text, 8); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
