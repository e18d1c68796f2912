// Package template reads texts that are made of columns, such as "train/{image_id}.jpg": Parse has the pieces, for those who have the rows.
//
// The braces are those of Python's str.format: {NAME} is the column's text as it stands, {NAME:06d} a whole number of at least six characters
// with zeros ahead, {{ and }} are braces. Of Python's formats there are d, Nd and 0Nd. A column whose name has a brace or a colon has no place in one.
package template

import (
	"fmt"
	"regexp"
	"strings"
)

// Piece is a constant or a column's value.
type Piece struct {
	Text   string // where Column is ""
	Column string
	Number string // what package fmt writes the whole number with: "%06d"; "": the column's text as it stands
}

const maxColumns = 64 // with one that is there twice counted twice

// Is tells a template from a name that stands for itself.
func Is(text string) bool { return strings.ContainsAny(text, "{}") }

// format is a whole number's; more than two digits of width are nobody's.
var format = regexp.MustCompile(`^0?([1-9][0-9]?)?d$`)

// Parse cuts a template into its pieces, of which at least one is a column. What is wrong is said with the template.
func Parse(text string) (pieces []Piece, err error) {
	wrong := func(why string, args ...any) ([]Piece, error) {
		return nil, fmt.Errorf("%.200q: %s", text, fmt.Sprintf(why, args...))
	}
	var constant strings.Builder
	end := func() {
		if constant.Len() > 0 {
			pieces = append(pieces, Piece{Text: constant.String()})
			constant.Reset()
		}
	}
	columns := 0
	for left := text; left != ""; {
		at := strings.IndexAny(left, "{}")
		if at < 0 {
			at = len(left)
		}
		constant.WriteString(left[:at])
		if left = left[at:]; left == "" {
			break
		}
		if strings.HasPrefix(left, "{{") || strings.HasPrefix(left, "}}") {
			constant.WriteByte(left[0])
			left = left[2:]
			continue
		}
		closing := strings.IndexByte(left, '}')
		switch {
		case closing == 0:
			return wrong("got a } without its {; a brace that is meant is written twice, }}")
		case closing < 0 || strings.Contains(left[1:closing], "{"):
			return wrong("got a { without its }, want {COLUMN}; a brace that is meant is written twice, {{")
		}
		p, err := column(left[1:closing])
		if err != nil {
			return wrong("%v", err)
		}
		end()
		pieces, left, columns = append(pieces, p), left[closing+1:], columns+1
	}
	end()
	switch {
	case columns == 0:
		return wrong("got no column, want one at least, such as {image_id}")
	case columns > maxColumns:
		return wrong("got %d columns, want at most %d", columns, maxColumns)
	}
	return pieces, nil
}

// column reads what is between two braces.
func column(text string) (p Piece, err error) {
	name, how, formatted := strings.Cut(text, ":")
	switch {
	case name == "":
		return p, fmt.Errorf("got {%.40s} without a name, want that of a column", text)
	case formatted && !format.MatchString(how):
		return p, fmt.Errorf("got format %.40q in {%.80s}, want a whole number's: d, 6d or 06d; without a colon it is the column's text as it stands", how, text)
	case formatted:
		return Piece{Column: name, Number: "%" + how}, nil
	}
	return Piece{Column: name}, nil
}
