module train

go 1.23
