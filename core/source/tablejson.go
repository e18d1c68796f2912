package source

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
)

const maxLineBytes = 16 << 20

func (r *tableReader) jsonLines(text []byte) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxLineBytes)
	row := r.cells()
	r.hasLabel = true
	for line := 1; lines.Scan(); line++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(lines.Bytes(), &fields); err != nil {
			return fmt.Errorf("line %d: want a JSON object: %w", line, err)
		}
		row.path, row.label = jsonText(fields[r.path]), jsonText(fields[r.label])
		for k := range row.others {
			row.others[k] = jsonText(fields[r.c.Others[k].From[0]])
		}
		for c := range row.columns {
			row.columns[c] = jsonText(fields[r.rows.columns[c].From])
		}
		if err := r.add(&row); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
	return lines.Err()
}

// jsonText is a string's content, and everything else as it is written; null is nothing.
func jsonText(value json.RawMessage) []byte {
	var s string
	switch {
	case len(value) == 0 || string(value) == "null":
		return nil
	case value[0] == '"' && json.Unmarshal(value, &s) == nil:
		return []byte(s)
	}
	return value
}
