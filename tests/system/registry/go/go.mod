module ottla/registry

go 1.26.0
