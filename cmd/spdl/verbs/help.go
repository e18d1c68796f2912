package verbs

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// helpColumns is how wide help is at most, and where there is no terminal.
const helpColumns = 120

// help prints what a verb does and takes, as wide as the terminal.
func (a *app) help(c *cobra.Command) {
	columns, _ := screenOf(a.out)
	if columns == 0 || columns > helpColumns {
		columns = helpColumns
	}
	fmt.Fprint(a.out, helpText(c, columns))
}

// helpText is the help of a verb in so many columns; examples stay as they are.
func helpText(c *cobra.Command, columns int) string {
	said := c.UsageString() // which cobra does not wrap
	flags := c.LocalFlags()
	said = strings.Replace(said, ended(flags.FlagUsages()), ended(flags.FlagUsagesWrapped(columns)), 1)
	return filled(strings.TrimSpace(cmp.Or(c.Long, c.Short)), columns) + "\n" + said
}

func ended(text string) string { return strings.TrimRightFunc(text, unicode.IsSpace) }

// filled is text whose paragraphs are filled with words up to so many columns. Lines that are indented stay, and so do empty ones.
func filled(text string, columns int) string {
	var b strings.Builder
	at := 0 // the column after the last word of a paragraph
	end := func() {
		if at > 0 {
			b.WriteByte('\n')
		}
		at = 0
	}
	for _, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == ' ' || line[0] == '\t' {
			end()
			b.WriteString(line + "\n")
			continue
		}
		for _, word := range strings.Fields(line) {
			n := utf8.RuneCountInString(word)
			if at+1+n > columns {
				end()
			}
			if at > 0 {
				b.WriteByte(' ')
				at++
			}
			b.WriteString(word)
			at += n
		}
	}
	end()
	return b.String()
}
