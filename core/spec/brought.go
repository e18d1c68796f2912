package spec

import "regexp"

// brought are keys that people know from elsewhere, by the section that they write them in, and what does it here.
var brought = []struct {
	section, key *regexp.Regexp
	remedy       string
}{
	{regexp.MustCompile(`(^|\.)audio$`), regexp.MustCompile(`^(max_length|max_len|padded|padding)$`),
		"say length: 20s, the room of a row, and shape: padded for rows as long as a batch's longest"},
	{regexp.MustCompile(`(^|\.)source$`), regexp.MustCompile(`^(parquet|csv|tsv|jsonl?)$`), "say list: FILE, or shards: FILES for Parquet and tar files of samples"},
	{regexp.MustCompile(`^$|(^|\.)order(\.buckets)?$`), regexp.MustCompile(`^(max_tokens|max_duration|max_frames|batch_bins|batch_tokens|batch_duration|numel|bucket_batch_sizes?)$`),
		"say order: {buckets: {by: COLUMN, max_total: N}}, the most of rows x longest length in a batch"},
	{regexp.MustCompile(`^$|(^|\.)order(\.buckets)?$`), regexp.MustCompile(`^(required_batch_size_multiple|batch_size_multiple)$`), "say order: {buckets: {by: COLUMN, max_total: N, multiple_of: M}}"},
	{regexp.MustCompile(`(^|\.)order(\.buckets)?$`), regexp.MustCompile(`^(num_buckets|n_buckets)$`), "say order: {buckets: {by: COLUMN, count: N}}"},
	{regexp.MustCompile(`^$|(^|\.)source$`), regexp.MustCompile(`^(masks?|target|targets|segmentation)$`),
		"a mask is a field, and its file a column of the table: source: {list: pairs.csv}, fields: {image: {image: {...}}, mask: {image: {mode: index, ...}}}"},
}

// instead is what does here what a foreign key does elsewhere, "" of a key that nobody brings along.
func instead(section, key string) string {
	for _, f := range brought {
		if f.section.MatchString(section) && f.key.MatchString(key) {
			return f.remedy
		}
	}
	return ""
}
