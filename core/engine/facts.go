package engine

// Facts are what does not change about a ring from New on.
type Facts struct {
	Name          string   `json:"name"` // NAME or NAME/RING
	Samples       int64    `json:"samples"`
	StepsPerEpoch int64    `json:"steps_per_epoch"` // batches that each lane gets in an epoch
	GlobalBatch   int64    `json:"global_batch"`    // rows of all ranks in one step, at most
	SlotBytes     uint64   `json:"-"`               // of a trial those of an engine that serves
	Classes       []string `json:"classes,omitempty"`
	Notes         []string `json:"-"` // what the source has to say of itself, which is in the log, too
}

// Facts describes the rings in the order of the description. It may be called between New and Close.
func (e *Engine) Facts() []Facts {
	all := make([]Facts, len(e.rings))
	for i, r := range e.rings {
		all[i] = Facts{
			Name: r.shm.Name(), Samples: r.source.Len(), StepsPerEpoch: r.order.StepsPerEpoch(),
			GlobalBatch: r.order.GlobalBatch(), SlotBytes: r.servedSlot, Classes: r.source.Classes(), Notes: r.notes(),
		}
	}
	return all
}
