"""Who describes methods and their messages: server reflection, and files of descriptors."""
