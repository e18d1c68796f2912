// Package template reads texts that are made of columns, such as "train/{image_id}.jpg": Parse has the pieces, for those who have the rows.
//
// The braces are those of Python's str.format: {NAME} is the column's text as it stands, {NAME:06d} a whole number of at least six characters
// with zeros ahead, {{ and }} are braces. Of Python's formats there are d, Nd and 0Nd. A column whose name has a brace or a colon has no place in one.
package template

import (
	"errors"
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
	columns := 0
	for left := text; left != "" && err == nil; {
		var p Piece
		if p, left, err = next(left); p.Column != "" {
			columns++
		}
		pieces = append(pieces, p)
	}
	switch {
	case err != nil:
	case columns == 0:
		err = errors.New("got no column, want one at least, such as {image_id}")
	case columns > maxColumns:
		err = fmt.Errorf("got %d columns, want at most %d", columns, maxColumns)
	}
	if err != nil {
		return nil, fmt.Errorf("%.200q: %w", text, err)
	}
	return pieces, nil
}

// next is the first piece of a text, and what is behind it.
func next(text string) (p Piece, rest string, err error) {
	switch at := strings.IndexAny(text, "{}"); {
	case at < 0:
		return Piece{Text: text}, "", nil
	case at > 0:
		return Piece{Text: text[:at]}, text[at:], nil
	case strings.HasPrefix(text, "{{"), strings.HasPrefix(text, "}}"):
		return Piece{Text: text[:1]}, text[2:], nil
	case text[0] == '}':
		return p, "", errors.New("got a } without its {; a brace that is meant is written twice, }}")
	}
	within, rest, closed := strings.Cut(text[1:], "}")
	if !closed || strings.Contains(within, "{") {
		return p, "", errors.New("got a { without its }, want {COLUMN}; a brace that is meant is written twice, {{")
	}
	p, err = column(within)
	return p, rest, err
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
